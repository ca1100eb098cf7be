import type { Context } from 'hono'
import { LRUCache } from 'lru-cache'
import { recordAudit } from '../../../db/audit/record.ts'
import { pageActor } from '../audit/page-actor.ts'
import type { AdminEnv, AdminRuntime } from '../context.ts'

const longestPath = 200
/** A page that reloads by itself is recorded once in this time. */
const recordedAgainAfterMs = 60_000

/** Creates the function that records that a person was refused what is for operators. */
export function createRecordRefusal({ db }: Pick<AdminRuntime, 'db'>) {
  const recorded = new LRUCache<string, true>({ max: 10_000, ttl: recordedAgainAfterMs })
  return async (c: Context<AdminEnv>): Promise<void> => {
    const { method, path } = c.req
    const refused = `${c.get('person').name} ${method} ${path}`
    if (recorded.has(refused)) return
    recorded.set(refused, true)
    const target = path.slice(0, longestPath)
    await recordAudit(db, { ...pageActor(c), action: 'page.refused', target, details: { method } })
  }
}
