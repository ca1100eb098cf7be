import type { Moved } from './time-limit.ts'

/**
 * A request body. What it is made of is in memory before the call begins, and its length is declared, so that the server notices
 * if it breaks off. Several buffers are written one after the other, as one body.
 */
export type HttpBody = string | Buffer | readonly Buffer[] | EncodedBody

/** A body that is encoded piece by piece while it is written, so that the whole of it is never in memory. */
export interface EncodedBody {
  bytes: number
  pieces(): Iterable<Buffer>
}

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

/** A multiple of 3, so that only the last piece of its base64 is padded. */
const encodedPieceBytes = 3 * 16 * 1024

/** A body with content as base64 between two texts. */
export function withBase64(before: string, content: Buffer, after: string): EncodedBody {
  const [first, last] = [Buffer.from(before), Buffer.from(after)]
  return {
    bytes: first.length + 4 * Math.ceil(content.length / 3) + last.length,
    *pieces() {
      yield first
      for (let at = 0; at < content.length; at += encodedPieceBytes) {
        yield Buffer.from(content.toString('base64', at, at + encodedPieceBytes), 'latin1')
      }
      yield last
    },
  }
}

/** The `content-length` header of a body in pieces: without it, undici would send the pieces chunked. */
export function lengthOf(body: HttpBody): Record<string, string> {
  const isWhole = typeof body === 'string' || (Buffer.isBuffer(body) && body.length <= maxInOnePiece)
  return isWhole ? {} : { 'content-length': String(bytesOf(body)) }
}
