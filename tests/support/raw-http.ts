import { request as httpRequest, type OutgoingHttpHeaders } from 'node:http'
import { connect } from 'node:net'
import { type Answer, answersIn, parse } from './answer.ts'

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
export function rawRequest(service: { url: string }, raw: RawRequest): Promise<Answer> {
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
export function rawBytes(service: { url: string }, bytes: string): Promise<Answer> {
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
