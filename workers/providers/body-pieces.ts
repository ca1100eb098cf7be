import type { Moved } from '../sends/time-limit.ts'

/**
 * A request body. All of it is in memory before the call begins, and its length is declared, so that the server notices if it
 * breaks off. Several buffers are written one after the other, as one body.
 */
export type HttpBody = string | Buffer | readonly Buffer[]

const pieceBytes = 64 * 1024
const maxInOnePiece = 4 * pieceBytes

const buffersOf = (body: HttpBody) => (typeof body === 'string' ? [] : Buffer.isBuffer(body) ? [body] : body)

const bytesOf = (body: HttpBody) => buffersOf(body).reduce((sum, { length }) => sum + length, 0)

/** Splits a large body into pieces. undici takes the next piece when the socket has accepted the previous one. */
export function bodyInPieces(body: HttpBody, moved: Moved): HttpBody | Iterable<Buffer> {
  return bytesOf(body) > maxInOnePiece ? pieces(buffersOf(body), moved) : body
}

function* pieces(buffers: readonly Buffer[], moved: Moved): Generator<Buffer> {
  for (const buffer of buffers) {
    for (let at = 0; at < buffer.length; at += pieceBytes) {
      const piece = buffer.subarray(at, at + pieceBytes)
      yield piece
      moved(piece.length)
    }
  }
}

/** The `content-length` header of a body in pieces: without it, undici would send the pieces chunked. */
export function lengthOf(body: HttpBody): Record<string, string> {
  const isWhole = typeof body === 'string' || (Buffer.isBuffer(body) && body.length <= maxInOnePiece)
  return isWhole ? {} : { 'content-length': String(bytesOf(body)) }
}
