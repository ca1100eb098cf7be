import { v7 as uuidv7 } from 'uuid'
import type { AuditRow } from '../../src/core/accounts/audit.ts'
import { type Database, inTransaction, type Transaction } from '../connection/client.ts'
import type { RunPage } from '../page.ts'
import { prepared, sqlText } from '../statement.ts'

/** Records a change whose function has a transaction of its own. */
export type RecordIn = (transaction: Transaction) => Promise<unknown>

/** Without its time: a role that may only add to the audit can't date a row back (ops/postgresql/audit-add-only.sql). */
const recordStatement = prepared(
  'record_audit',
  'Adds a row to the audit.',
  sqlText`
    -- $1: its id; $2: who; $3: by what; $4: from where; $5: what was done; $6: to what; $7: details.
    insert into audit (id, by, via, address, action, target, details)
    values ($1, $2, $3, $4, $5, $6, $7)`,
)

/** Records a change. Call it in the transaction of the change: neither is there without the other. */
export async function recordAudit(db: Database | Transaction, row: AuditRow): Promise<string> {
  const id = uuidv7()
  const { by, via, address, action, target, details = {} } = row
  await recordStatement(db, [id, by, via, address, action, target, details])
  return id
}

const finishStatement = prepared(
  'finish_audit',
  'Adds what came of a change to its row of the audit.',
  sqlText`select finish_audit($1::uuid, $2::jsonb)`,
)

/**
 * Makes a change and records it, in one transaction.
 *
 * @param rowOf what the audit records; nothing if nothing was changed.
 */
export async function audited<Result>(
  db: Database | Transaction,
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
  /** Its result, for the details: numbers alone, which change nothing of what the row says (migration 0033). */
  resultOf: (result: Result) => Record<string, number>
  /** Runs the statements of the audit, within what its process has for one. */
  runPage?: RunPage
}

/**
 * Makes a change of several transactions. It is recorded before the first one, so that one that is interrupted is in the audit too.
 * Its result is added in the end.
 */
export async function auditedInPages<Result>(
  db: Database,
  row: AuditRow,
  { change, resultOf, runPage = (page) => page() }: Paged<Result>,
): Promise<Result> {
  const id = await runPage(() => recordAudit(db, row))
  const result = await change()
  await runPage(() => finishStatement(db, [id, resultOf(result)]))
  return result
}
