import { createHash } from 'node:crypto'
import { etag, RETAINED_304_HEADERS } from 'hono/etag'
import { factory } from '../context.ts'

/** A response body that is made once. */
export interface StaticBody {
  type: string
  body: Uint8Array<ArrayBuffer>
  tag: string
}

export function staticBody(type: string, content: string | Uint8Array): StaticBody {
  const body = new Uint8Array(Buffer.from(content))
  return { type, body, tag: `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"` }
}

const retainedHeaders = [...RETAINED_304_HEADERS, 'x-request-id']

/** Answers 304 if the client already has the body. The client has to ask each time, so that it notices a new release at once. */
export function answerStatic(find: (file: string) => StaticBody) {
  return factory.createHandlers(etag({ retainedHeaders }), (c) => {
    const { type, body, tag } = find(c.req.param('file') ?? '')
    return c.body(body, 200, {
      ...c.get('headers'),
      'Content-Type': type,
      'Content-Length': String(body.length),
      'Cache-Control': 'no-cache',
      ETag: tag,
    })
  })
}
