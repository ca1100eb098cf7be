import type { Context } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import { type ApiEnv, factory } from './context.ts'
import { ApiError } from './errors.ts'

const jsonType = /^application\/json *(; *charset="?utf-8"? *)?$/i
const utf8 = new TextDecoder('utf-8', { fatal: true })

/** Refuses a body by its declared length, before anything is read or looked up. */
export function refuseDeclaredOversize(maxBytes: number) {
  return factory.createMiddleware((c, next) => {
    if (Number(c.req.header('Content-Length') ?? 0) > maxBytes) throw tooLarge(maxBytes)
    return next()
  })
}

/** Reads the body as text, for `validate`: JSON in UTF-8, cut at `maxBytes` however it is sent (docs/api.md#body). */
export function readBody(maxBytes: number) {
  const cut = bodyLimit({
    maxSize: maxBytes,
    onError: () => {
      throw tooLarge(maxBytes)
    },
  })
  const readBytes = async (c: Context<ApiEnv>): Promise<ArrayBuffer> => {
    // Node already holds a body to its declared length; only one without a length has to be counted.
    if (c.req.header('Transfer-Encoding') !== undefined) await cut(c, async () => {})
    return await c.req.arrayBuffer()
  }
  return factory.createMiddleware(async (c, next) => {
    if (!jsonType.test(c.req.header('Content-Type') ?? '')) {
      throw new ApiError(400, 'Content-Type: has to be application/json, in UTF-8')
    }
    const encoding = c.req.header('Content-Encoding')
    if (encoding !== undefined) throw new ApiError(400, 'Content-Encoding: send the body without one')
    const bytes = await readBytes(c).catch((error: unknown) => {
      throw error instanceof ApiError ? error : new ApiError(400, 'body: ended before it was complete')
    })
    // Hono's validators take the text from here; left to themselves they would replace invalid UTF-8 by U+FFFD.
    c.req.bodyCache.text = Promise.resolve(decode(bytes)) as unknown as string
    await next()
  })
}

function decode(bytes: ArrayBuffer): string {
  if (bytes.byteLength === 0) throw new ApiError(400, 'body: is empty; send a JSON object')
  try {
    return utf8.decode(bytes)
  } catch {
    throw new ApiError(400, 'body: not valid UTF-8')
  }
}

function tooLarge(maxBytes: number): ApiError {
  return new ApiError(400, `body: more than ${maxBytes} bytes`)
}
