import { eq, sql } from 'drizzle-orm'
import { v7 as uuidv7 } from 'uuid'
import type { Actor } from '../../src/core/actor.ts'
import type { AuditDetail, AuditEntry } from '../../src/core/audit.ts'
import { type Database, inTransaction, type Transaction } from '../client.ts'
import { audit } from '../schema.ts'

/** Records a change. Call it in the transaction of the change: neither is there without the other. */
export async function recordAudit(db: Database | Transaction, row: Actor & AuditEntry): Promise<string> {
  const id = uuidv7()
  const { by, via, address, action, target, details = {} } = row
  await db.insert(audit).values({ id, by, via, address, action, target, details })
  return id
}

/**
 * Makes a change and records it, in one transaction.
 *
 * @param entryOf what the audit records; undefined if nothing was changed.
 */
export async function audited<Result>(
  db: Database,
  actor: Actor,
  change: (transaction: Transaction) => Promise<Result>,
  entryOf: (result: Result) => AuditEntry | undefined,
): Promise<Result> {
  return await inTransaction(db, async (transaction) => {
    const result = await change(transaction)
    const entry = entryOf(result)
    if (entry) await recordAudit(transaction, { ...actor, ...entry })
    return result
  })
}

/**
 * Makes a change of several transactions. It is recorded before the first one, so that one that is interrupted is in the audit too; what came of
 * it is added in the end.
 */
export async function auditedInPages<Result>(
  db: Database,
  row: Actor & AuditEntry,
  change: () => Promise<Result>,
  resultOf: (result: Result) => Record<string, AuditDetail>,
): Promise<Result> {
  const id = await recordAudit(db, row)
  const result = await change()
  const details = sql`${audit.details} || ${JSON.stringify(resultOf(result))}::jsonb`
  await db.update(audit).set({ details }).where(eq(audit.id, id))
  return result
}
