import type { EncodedBody, HttpBody } from '../../src/providers/shared/http/http-body.ts'
import type { Moved } from './time-limit.ts'

const pieceBytes = 64 * 1024
const maxInOnePiece = 4 * pieceBytes

const isEncoded = (body: HttpBody): body is EncodedBody => typeof body === 'object' && 'pieces' in body

const buffersOf = (body: Exclude<HttpBody, EncodedBody>) =>
  typeof body === 'string' ? [] : Buffer.isBuffer(body) ? [body] : body

const bytesOf = (body: HttpBody) =>
  isEncoded(body) ? body.bytes : buffersOf(body).reduce((sum, { length }) => sum + length, 0)

/** Splits a large body into pieces. undici takes the next piece when the socket has accepted the previous one. */
export function bodyInPieces(body: HttpBody, moved: Moved): HttpBody | Iterable<Buffer> {
  if (isEncoded(body)) return moving(body.pieces(), moved)
  return bytesOf(body) > maxInOnePiece ? moving(piecesOf(buffersOf(body)), moved) : body
}

function* moving(pieces: Iterable<Buffer>, moved: Moved): Generator<Buffer> {
  for (const piece of pieces) {
    yield piece
    moved(piece.length)
  }
}

function* piecesOf(buffers: readonly Buffer[]): Generator<Buffer> {
  for (const buffer of buffers) {
    for (let at = 0; at < buffer.length; at += pieceBytes) yield buffer.subarray(at, at + pieceBytes)
  }
}

/** The `content-length` header of a body in pieces: without it, undici would send the pieces chunked. */
export function lengthOf(body: HttpBody): Record<string, string> {
  const isWhole = typeof body === 'string' || (Buffer.isBuffer(body) && body.length <= maxInOnePiece)
  return isWhole ? {} : { 'content-length': String(bytesOf(body)) }
}
