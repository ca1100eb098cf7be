import { createHash } from 'node:crypto'
import type { Context } from 'hono'
import { etag, RETAINED_304_HEADERS } from 'hono/etag'
import { type ApiEnv, factory } from '../context.ts'
import { basePlaceholder } from './base-url.ts'

/** A response body that is made once, but for the address by which it is read. */
export interface StaticBody {
  type: string
  text: string
  hash: string
}

export const staticBody = (type: string, text: string): StaticBody => ({ type, text, hash: hashOf(text) })

const hashOf = (text: string) => createHash('sha256').update(text).digest('base64url').slice(0, 22)

const retainedHeaders = [...RETAINED_304_HEADERS, 'x-request-id']

/** Answers 304 if the client already has the body. The client has to ask each time, so that it notices a new release at once. */
export const answerStatic =
  (baseUrl: (c: Context<ApiEnv>) => string) =>
  (find: (c: Context<ApiEnv>) => StaticBody | Promise<StaticBody>) =>
    factory.createHandlers(etag({ retainedHeaders }), async (c) => {
      const { type, text, hash } = await find(c)
      const base = baseUrl(c)
      const body = new Uint8Array(Buffer.from(text.replaceAll(basePlaceholder, base)))
      return c.body(body, 200, {
        ...c.get('headers'),
        'Content-Type': type,
        'Content-Length': String(body.length),
        'Cache-Control': 'no-cache',
        ETag: `"${hashOf(hash + base)}"`,
      })
    })
