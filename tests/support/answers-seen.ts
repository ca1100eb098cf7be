import type { OutgoingHttpHeaders, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { type Answer, answersIn, parse } from './answer.ts'

export interface SeenAnswer extends Answer {
  method: string
  /** As it was called, without the origin that a target may have. */
  path: string
}

/** All that the APIs of this process have answered, until a test's end holds it against the document. */
export const answersSeen: SeenAnswer[] = []

/** Elsewhere nothing would take them out again. */
let isHeldAgainstDocument = false

export function holdAgainstDocument(): void {
  isHeldAgainstDocument = true
}

/** Adds each answer of the server to `answersSeen`, before its client has it, where tests hold them against the document. */
export function watchAnswers(server: Server): void {
  if (!isHeldAgainstDocument) return
  server.prependListener('request', ({ method = '', url = '' }, response) => {
    const path = url.replace(/^https?:\/\/[^/]*/i, '')
    onAnswer(response, (answer) => answersSeen.push({ method, path, ...answer }))
  })
  for (const event of ['clientError', 'connect'])
    server.prependListener(event, (_cause, socket: Socket) => watchRefusal(socket))
}

function onAnswer(response: ServerResponse, add: (answer: Answer) => void): void {
  const { writeHead, write, end } = response
  const headers: OutgoingHttpHeaders = {}
  const parts: Buffer[] = []
  const keep = ([part]: unknown[]) => {
    if (typeof part === 'string' || part instanceof Uint8Array) parts.push(Buffer.from(part))
  }
  response.writeHead = (...given: unknown[]) => {
    Object.assign(headers, given.at(-1))
    return writeHead.apply(response, given as Parameters<typeof writeHead>)
  }
  response.write = (...given: unknown[]) => {
    keep(given)
    return write.apply(response, given as Parameters<typeof write>)
  }
  response.end = (...given: unknown[]) => {
    if (!response.writableEnded) {
      keep(given)
      // The headers of the two places have names in different cases.
      const written = new Headers(Object.entries(headers).map(([name, value]) => [name, String(value)]))
      const all = Object.entries({ ...response.getHeaders(), ...Object.fromEntries(written) })
      add({
        status: response.statusCode,
        headers: new Headers(all.map(([name, value]) => [name, String(value)] as [string, string])),
        body: parse(Buffer.concat(parts).toString()),
      })
    }
    return end.apply(response, given as Parameters<typeof end>)
  }
}

/** Notes the answers to requests that aren't HTTP: these have no response object, and no path. */
function watchRefusal(socket: Socket): void {
  const { end } = socket
  socket.end = (...given: unknown[]) => {
    for (const answer of answersIn(Buffer.from(String(given[0] ?? ''))))
      answersSeen.push({ method: 'GET', path: '*', ...answer })
    return end.apply(socket, given as Parameters<typeof end>)
  }
}
