import { isAscii } from 'node:buffer'
import { limitJson, maxDepth, maxFields } from '../core/json-limits.ts'
import { factory } from './context.ts'
import { ApiError } from './errors.ts'
import type { Patience } from './patience.ts'
import { receive, tooLarge } from './receive.ts'

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
export function readBody(maxBytes: number, patience: Patience) {
  return factory.createMiddleware(async (c, next) => {
    if (!jsonType.test(c.req.header('Content-Type') ?? '')) {
      throw new ApiError(400, 'Content-Type: has to be application/json, in UTF-8')
    }
    const encoding = c.req.header('Content-Encoding')
    if (encoding !== undefined) throw new ApiError(400, 'Content-Encoding: send the body without one')
    const transfer = c.req.header('Transfer-Encoding')
    if (transfer !== undefined && !/^chunked$/i.test(transfer)) {
      throw new ApiError(400, 'Transfer-Encoding: has to be chunked, or absent')
    }
    const limited = limitJson(await receive(c.env.incoming, maxBytes, patience))
    if (!limited) throw new ApiError(400, `body: more than ${maxFields} fields and items`)
    c.set('isTooDeep', limited.isTooDeep)
    // Hono's validators take the text from here; left to themselves they would replace invalid UTF-8 by U+FFFD.
    c.req.bodyCache.text = Promise.resolve(decode(limited.json)) as unknown as string
    await next()
  })
}

/** Behind `validate`, which names the field: it passes only a field that is given twice, and well the last time. */
export const refuseTooDeep = factory.createMiddleware((c, next) => {
  if (c.get('isTooDeep')) throw new ApiError(400, `body: nested deeper than ${maxDepth}`)
  return next()
})

function decode(bytes: Buffer): string {
  if (bytes.length === 0) throw new ApiError(400, 'body: is empty; send a JSON object')
  // Ten times as fast, which counts where the body is 20 MB of base64.
  if (isAscii(bytes)) return bytes.toString('latin1')
  try {
    return utf8.decode(bytes)
  } catch {
    throw new ApiError(400, 'body: not valid UTF-8')
  }
}
