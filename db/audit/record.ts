import { eq, sql } from 'drizzle-orm'
import { v7 as uuidv7 } from 'uuid'
import type { AuditDetail, AuditRow } from '../../src/core/audit.ts'
import { type Database, inTransaction, type Transaction } from '../client.ts'
import type { RunPage } from '../page.ts'
import { audit } from '../schema.ts'

/** Records a change whose function has a transaction of its own. */
export type RecordIn = (transaction: Transaction) => Promise<unknown>

/** Records a change. Call it in the transaction of the change: neither is there without the other. */
export async function recordAudit(db: Database | Transaction, row: AuditRow): Promise<string> {
  const id = uuidv7()
  const { by, via, address, action, target, details = {} } = row
  await db.insert(audit).values({ id, by, via, address, action, target, details })
  return id
}

/**
 * Makes a change and records it, in one transaction.
 *
 * @param rowOf what the audit records; nothing if nothing was changed.
 */
export async function audited<Result>(
  db: Database,
  change: (transaction: Transaction) => Promise<Result>,
  rowOf: (result: Result) => AuditRow | false | undefined,
): Promise<Result> {
  return await inTransaction(db, async (transaction) => {
    const result = await change(transaction)
    const row = rowOf(result)
    if (row) await recordAudit(transaction, row)
    return result
  })
}

interface Paged<Result> {
  change: () => Promise<Result>
  /** What came of it, for the details. */
  resultOf: (result: Result) => Record<string, AuditDetail>
  /** Runs the statements of the audit, within what its process has for one. */
  runPage?: RunPage
}

/**
 * Makes a change of several transactions. It is recorded before the first one, so that one that is interrupted is in the audit too.
 * What came of it is added in the end.
 */
export async function auditedInPages<Result>(
  db: Database,
  row: AuditRow,
  { change, resultOf, runPage = (page) => page() }: Paged<Result>,
): Promise<Result> {
  const id = await runPage(() => recordAudit(db, row))
  const result = await change()
  const details = sql`${audit.details} || ${JSON.stringify(resultOf(result))}::jsonb`
  await runPage(() => db.update(audit).set({ details }).where(eq(audit.id, id)))
  return result
}
