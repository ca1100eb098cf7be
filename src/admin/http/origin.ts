import { createReadAskedOrigin } from '../../platform/http/asked-origin.ts'
import { type AdminRuntime, factory } from '../context.ts'

/** Notes the origin that the client asked for. The cookie, the security headers and the check of forms depend on it. */
export function readOrigin(runtime: AdminRuntime) {
  const askedOrigin = createReadAskedOrigin(runtime)
  return factory.createMiddleware(async (c, next) => {
    c.set('askedOrigin', askedOrigin(c.env.incoming))
    await next()
  })
}
