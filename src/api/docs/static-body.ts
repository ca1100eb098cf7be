import { createHash } from 'node:crypto'
import type { Context } from 'hono'
import { etag, RETAINED_304_HEADERS } from 'hono/etag'
import { LRUCache } from 'lru-cache'
import { type ApiEnv, factory } from '../context.ts'
import { basePlaceholder } from './base-url.ts'

/** More addresses of one service than are in use. A client can make up any number of them. */
const rememberedAddresses = 4

interface AddressedBody {
  bytes: Uint8Array<ArrayBuffer>
  etag: string
}

/** A response body that is made once for each address by which it is read, and shared by all answers. */
export interface StaticBody {
  type: string
  at(base: string): AddressedBody
}

export function staticBody(type: string, text: string): StaticBody {
  const hash = hashOf(text)
  const pieces = text.split(basePlaceholder).map((piece) => Buffer.from(piece))
  const bodies = new LRUCache<string, AddressedBody>({ max: rememberedAddresses })
  return {
    type,
    at(base) {
      const known = bodies.get(base)
      if (known) return known
      const address = Buffer.from(base)
      const bytes = Buffer.concat(
        pieces.flatMap((piece, index) => (index === 0 ? [piece] : [address, piece])),
      )
      const body = { bytes, etag: `"${hashOf(hash + base)}"` }
      bodies.set(base, body)
      return body
    },
  }
}

/** A file that doesn't depend on the address. */
export function fileBody(type: string, content: Uint8Array<ArrayBuffer>): StaticBody {
  const body = { bytes: content, etag: `"${hashOf(content)}"` }
  return { type, at: () => body }
}

const hashOf = (text: string | Uint8Array) =>
  createHash('sha256').update(text).digest('base64url').slice(0, 22)

const retainedHeaders = [...RETAINED_304_HEADERS, 'x-request-id']

/** Answers 304 if the client already has the body. The client has to ask each time, so that it notices a new release at once. */
export const answerStatic =
  (baseUrl: (c: Context<ApiEnv>) => string) =>
  (find: (c: Context<ApiEnv>) => StaticBody | Promise<StaticBody>) =>
    factory.createHandlers(etag({ retainedHeaders }), async (c) => {
      const { type, at } = await find(c)
      const { bytes, etag } = at(baseUrl(c))
      return c.body(bytes, 200, {
        ...c.get('headers'),
        'Content-Type': type,
        'Content-Length': String(bytes.length),
        'Cache-Control': 'no-cache',
        ETag: etag,
      })
    })
