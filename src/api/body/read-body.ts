import { factory } from '../context.ts'
import type { ClientTimeouts } from '../http/client-timeouts.ts'
import { refuseEncoded, refuseOtherType } from './body-headers.ts'
import type { LargeBodies } from './large/large-bodies.ts'
import { receive, tooLarge } from './receive.ts'

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
    refuseOtherType(headers['content-type'])
    refuseEncoded(headers)
    const memory = large.reservationFor(c.get('caller').accountId)
    try {
      c.set('body', await receive(c.env.incoming, maxBytes, timeouts, memory))
      await next()
    } finally {
      memory.release()
    }
  })
}
