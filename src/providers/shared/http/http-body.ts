/**
 * A request body. Its parts are in memory before the call begins, and its length is declared, so that the server notices
 * if it breaks off. Several buffers are written one after the other, as one body.
 */
export type HttpBody = string | Buffer | readonly Buffer[] | EncodedBody

/** A body that is encoded piece by piece while it is written, so that the whole of it is never in memory. */
export interface EncodedBody {
  bytes: number
  pieces(): Iterable<Buffer>
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
