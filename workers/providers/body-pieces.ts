import type { Moved } from '../sends/time-limit.ts'

/**
 * All of it is in memory, and its length is declared, before the call begins: the server can tell a body that broke off
 * from a whole one. Several buffers are written one after the other, as one body.
 */
export type HttpBody = string | Buffer | readonly Buffer[]

const pieceBytes = 64 * 1024
const mostInOnePiece = 4 * pieceBytes

const buffersOf = (body: HttpBody) => (typeof body === 'string' ? [] : Buffer.isBuffer(body) ? [body] : body)

const bytesOf = (body: HttpBody) => buffersOf(body).reduce((sum, { length }) => sum + length, 0)

/** Large content goes out piece by piece: undici takes the next one when the socket has taken the one before. */
export function bodyInPieces(body: HttpBody, moved: Moved): HttpBody | Iterable<Buffer> {
  return bytesOf(body) > mostInOnePiece ? pieces(buffersOf(body), moved) : body
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

/** Of several pieces undici can't tell the length, and would send them in chunks. */
export function lengthOf(body: HttpBody): Record<string, string> {
  const isWhole = typeof body === 'string' || (Buffer.isBuffer(body) && body.length <= mostInOnePiece)
  return isWhole ? {} : { 'content-length': String(bytesOf(body)) }
}
