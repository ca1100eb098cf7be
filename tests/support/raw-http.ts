import { request as httpRequest, type OutgoingHttpHeaders } from 'node:http'
import { connect } from 'node:net'
import type { Answer } from './builders.ts'
import type { TestService } from './service.ts'

interface RawRequest {
  method?: string
  path: string
  headers?: OutgoingHttpHeaders
  /** Sent one by one; without a Content-Length among the headers the body is chunked. */
  chunks?: Iterable<string | Uint8Array> | AsyncIterable<string | Uint8Array>
  /** Leaves the body unfinished. */
  keepOpen?: boolean
}

/** A request that `fetch` would not make: chunked, with any headers, or without its end. */
export function rawRequest(service: TestService, raw: RawRequest): Promise<Answer> {
  const { method = 'POST', path, headers = {}, chunks = [], keepOpen = false } = raw
  return new Promise((resolve, reject) => {
    let answered = false
    const outgoing = httpRequest(service.url + path, { method, headers, agent: false }, (incoming) => {
      answered = true
      const parts: Buffer[] = []
      incoming.on('data', (part: Buffer) => parts.push(part))
      incoming.on('error', reject)
      incoming.on('end', () => {
        outgoing.destroy()
        resolve({
          status: incoming.statusCode ?? 0,
          headers: new Headers(
            Object.entries(incoming.headers).map(
              ([name, value]) => [name, String(value)] as [string, string],
            ),
          ),
          body: parse(Buffer.concat(parts).toString()),
        })
      })
    })
    outgoing.on('error', (error) => !answered && reject(error))
    void (async () => {
      outgoing.flushHeaders()
      for await (const chunk of chunks) {
        if (answered || outgoing.destroyed) return
        outgoing.write(chunk)
      }
      if (!keepOpen) outgoing.end()
    })()
  })
}

/** Bytes on the wire, HTTP or not; the server's answer up to the end of the connection. */
export function rawBytes(service: TestService, bytes: string): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const socket = connect(Number(new URL(service.url).port), '127.0.0.1', () => socket.write(bytes))
    const parts: Buffer[] = []
    socket.on('data', (part) => parts.push(part))
    socket.on('error', (error) => parts.length === 0 && reject(error))
    socket.on('close', () => {
      const [answer] = answersIn(Buffer.concat(parts))
      resolve(answer ?? { status: Number.NaN, headers: new Headers(), body: '' })
    })
  })
}

/** All answers that came on one connection, one after the other, each with its length. */
export function answersIn(bytes: Buffer): Answer[] {
  const answers: Answer[] = []
  for (let rest = bytes.toString('latin1'); rest.includes('\r\n\r\n'); ) {
    const [head = ''] = rest.split('\r\n\r\n', 1)
    const [statusLine = '', ...lines] = head.split('\r\n')
    const headers = new Headers(lines.map((line) => line.split(': ', 2) as [string, string]))
    const bodyAt = head.length + 4
    const end = bodyAt + Number(headers.get('Content-Length'))
    answers.push({
      status: Number(statusLine.split(' ')[1]),
      headers,
      body: parse(rest.slice(bodyAt, end)),
    })
    rest = rest.slice(end)
  }
  return answers
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
