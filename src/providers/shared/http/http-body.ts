import { randomUUID } from 'node:crypto'

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

/**
 * JSON with contents as base64.
 *
 * @param make makes the value; it puts what `at` returns in the place of a content.
 */
export function jsonWithBase64(make: (at: (content: Buffer) => string) => unknown): string | EncodedBody {
  const contents: Buffer[] = []
  let mark = ''
  const json = JSON.stringify(
    make((content) => {
      // Random, so that no text of the value can hold it.
      mark ||= randomUUID()
      return `${mark}-${contents.push(content) - 1}-`
    }),
  )
  if (contents.length === 0) return json
  // Texts, with the number of a content between each two.
  const parts = json.split(new RegExp(`${mark}-(\\d+)-`))
  return withBase64(parts.map((part, index) => (index % 2 === 0 ? part : (contents[Number(part)] as Buffer))))
}

/** A body of texts, and of contents as base64. */
function withBase64(parts: readonly (string | Buffer)[]): EncodedBody {
  const bytesOf = (part: string | Buffer) =>
    typeof part === 'string' ? Buffer.byteLength(part) : 4 * Math.ceil(part.length / 3)
  return {
    bytes: parts.reduce((sum, part) => sum + bytesOf(part), 0),
    *pieces() {
      for (const part of parts) {
        if (typeof part === 'string') yield Buffer.from(part)
        else
          for (let at = 0; at < part.length; at += encodedPieceBytes)
            yield Buffer.from(part.toString('base64', at, at + encodedPieceBytes), 'latin1')
      }
    },
  }
}

/** Content of this size is encoded while it is written. */
const largeBytes = 256 * 1024

/** Small content as base64 in the JSON itself; for a body that is signed or printed whole. */
export const jsonWithLargeBase64 = (make: (encode: (content: Buffer) => string) => unknown) =>
  jsonWithBase64((at) =>
    make((content) => (content.length < largeBytes ? content.toString('base64') : at(content))),
  )

/** The pieces of a body, encoded one after the other. */
export function piecesOf(body: HttpBody): Iterable<string | Buffer> {
  if (typeof body === 'string' || Buffer.isBuffer(body)) return [body]
  return 'pieces' in body ? body.pieces() : body
}

/** A body as one text, to be printed. */
export const textOf = (body: HttpBody): string => [...piecesOf(body)].join('')
