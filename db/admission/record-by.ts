import { givesUpAfterMs, type Transaction } from '../connection/client.ts'
import { prepared, sqlText } from '../statement.ts'

/* The deadline of an accept, `recordBy` (docs/decisions/0012-request-deadline.md). */

/** SQL that is true for a given send whose deadline has not passed. */
export const isInTime = 'clock_timestamp() < "recordBy"'

/**
 * SQL that is true if `condition` is. If it isn't, the statement is rolled back and fails with an error that `isTooLate`. For
 * conditions that are checked after rows have been written (migration 0012, docs/decisions/0012-request-deadline.md).
 */
export const orTooLate = (condition: string) => `case when ${condition} then true else too_late() end`

const commitStatement = prepared(
  'to_be_committed_by',
  'Makes PostgreSQL roll the transaction back unless it is committed by then.',
  sqlText`
    select set_config('idle_in_transaction_session_timeout', ms::text, true)
    from (select least(${givesUpAfterMs},
                       ceil(extract(epoch from $1::timestamptz - clock_timestamp()) * 1000))::int as ms) until
    where ${orTooLate('ms > 0')}`,
)

/**
 * The last statement of a transaction: PostgreSQL rolls the transaction back unless the commit arrives by then. A commit that is
 * delayed on the network would come after the client got a 503.
 */
export async function toBeCommittedBy(transaction: Transaction, recordBy: Date): Promise<void> {
  await commitStatement(transaction, [recordBy])
}
