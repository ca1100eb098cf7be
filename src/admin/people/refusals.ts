import type { Context } from 'hono'
import { recordAudit } from '../../../db/audit/record.ts'
import { pageActor } from '../audit/page-actor.ts'
import type { AdminEnv, AdminRuntime } from '../context.ts'

const longestPath = 200

/** Creates the function that records that a person was refused what is for operators. */
export function refusalRecorder({ db }: Pick<AdminRuntime, 'db'>) {
  return async (c: Context<AdminEnv>): Promise<void> => {
    const { method, path } = c.req
    const target = path.slice(0, longestPath)
    await recordAudit(db, { ...pageActor(c), action: 'page.refused', target, details: { method } })
  }
}
