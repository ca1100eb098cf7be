import type { Context } from 'hono'
import { routePath } from 'hono/route'
import { recordAudit } from '../../../db/audit/record.ts'
import { pageActor } from '../audit/page-actor.ts'
import type { AdminEnv, AdminRuntime } from '../context.ts'

/** Creates the function that records that a person was refused what is for operators. */
export function refusalRecorder({ db }: AdminRuntime) {
  return async (c: Context<AdminEnv>): Promise<void> => {
    const target = `${c.req.method} ${routePath(c)}`
    const { role } = c.get('person')
    await recordAudit(db, { ...pageActor(c), action: 'page.refused', target, details: { role } })
  }
}
