import type { Context } from 'hono'
import { routePath } from 'hono/route'
import type { AdminEnv, AdminRuntime } from '../context.ts'

/** Creates the function that records that a person was refused what is for operators. */
export function refusalRecorder({ log }: AdminRuntime) {
  return async (c: Context<AdminEnv>): Promise<void> => {
    const { name: by, role } = c.get('person')
    const action = `${c.req.method} ${routePath(c)}`
    log.warn({ event: 'admin_refused', by, role, address: c.get('address'), action })
  }
}
