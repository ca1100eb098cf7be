import type { Context } from 'hono'
import { LRUCache } from 'lru-cache'
import { recordAudit } from '../../../db/audit/record.ts'
import { databaseCause } from '../../../db/connection/database-cause.ts'
import type { AuditRow } from '../../core/accounts/audit.ts'
import { canBeRecordId } from '../../core/requests/record-id.ts'
import { causeLine } from '../../core/store-causes.ts'
import { type AdminEnv, type AdminRuntime, factory } from '../context.ts'
import { PageError } from '../errors.tsx'
import { pageActor } from './page-actor.ts'

/** The parameters that name whose contact it is. Their values are ids, never a contact. */
const idNames = ['accountId', 'requestId', 'conversationId', 'suppressionId']
/** A page that reloads by itself is recorded once in this time. */
const seenAgainAfterMs = 900_000

/**
 * Records each download, and who saw contacts whole: a contact that somebody passes on has been seen first. It is recorded before
 * the answer leaves: what isn't in the audit isn't given away.
 */
export function recordSeen({ db }: Pick<AdminRuntime, 'db'>) {
  const recorded = new LRUCache<string, true>({ max: 10_000, ttl: seenAgainAfterMs })
  return factory.createMiddleware(async (c, next) => {
    await next()
    const { path, method } = c.req
    if (c.res.status !== 200) return
    const ids = c.get('seen')
    const downloaded = c.get('downloaded')
    if (downloaded) {
      const details = { ...downloaded.details, contacts: ids ? 'whole' : 'masked' }
      await recordOrRefuse(db, { ...pageActor(c), ...downloaded, details })
      return
    }
    if (!ids) return
    const details = { ...idsIn(c), ...ids }
    const seen = JSON.stringify([c.get('person').name, c.get('address'), method, path, details])
    if (recorded.has(seen)) return
    await recordOrRefuse(db, { ...pageActor(c), action: 'contacts.view', target: path, details })
    recorded.set(seen, true)
  })
}

async function recordOrRefuse(db: AdminRuntime['db'], row: AuditRow): Promise<void> {
  try {
    await recordAudit(db, row)
  } catch (error) {
    const cause = databaseCause(error)
    if (!cause) throw error
    throw new PageError(503, `${notRecorded} ${causeLine(cause)}. Then try again.`, { 'Retry-After': '1' })
  }
}

const notRecorded =
  "Who downloads a list or sees whole contacts is recorded in the audit first, which can't be written now. Pages with masked contacts, such as those of a person with the role support, can be read."

function idsIn(c: Context<AdminEnv>): Record<string, string> {
  const query = c.req.query()
  const given = idNames.map((name) => [name, query[name]?.trim() ?? ''] as const)
  return Object.fromEntries(given.filter(([, id]) => canBeRecordId(id)))
}
