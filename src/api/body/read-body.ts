import type { ClientTimeouts } from '../client-timeouts.ts'
import { factory } from '../context.ts'
import { ApiError } from '../errors.ts'
import type { LargeBodies } from './large/large-bodies.ts'
import { receive, tooLarge } from './receive.ts'

const jsonType = /^application\/json *(; *charset="?utf-8"? *)?$/i

/** Refuses a body by its declared length, before reading it or querying anything. */
export function refuseDeclaredOversize(maxBytes: number) {
  return factory.createMiddleware((c, next) => {
    if (Number(c.env.incoming.headers['content-length'] ?? 0) > maxBytes) throw tooLarge(maxBytes)
    return next()
  })
}

/** Reads the bytes of the body, for `validate`; at most `maxBytes`, however they are sent (docs/reference/api.md#body). */
export function readBody(maxBytes: number, timeouts: ClientTimeouts, large: LargeBodies) {
  return factory.createMiddleware(async (c, next) => {
    const { headers } = c.env.incoming
    if (!jsonType.test(headers['content-type'] ?? '')) {
      throw new ApiError(400, 'Content-Type: has to be application/json, in UTF-8')
    }
    const encoding = headers['content-encoding']
    if (encoding !== undefined) throw new ApiError(400, 'Content-Encoding: send the body without one')
    const transfer = headers['transfer-encoding']
    if (transfer !== undefined && !/^chunked$/i.test(transfer)) {
      throw new ApiError(400, 'Transfer-Encoding: has to be chunked, or absent')
    }
    const memory = large.reservationFor(c.get('caller').accountId)
    try {
      c.set('body', await receive(c.env.incoming, maxBytes, timeouts, memory))
      await next()
    } finally {
      memory.release()
    }
  })
}
