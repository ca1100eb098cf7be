import { causes } from '../../src/core/suppression/suppression.ts'
import { suppressedFor } from '../claim-rule.ts'
import type { Database, Transaction } from '../connection/client.ts'
import { type FailedSend, failQueued } from '../delivery/fail-queued.ts'
import { sqlText } from '../statement.ts'

const reasonByCause = sqlText`
  case suppressed.cause
    ${Object.entries(causes)
      .map(([cause, { storedReason }]) => `when '${cause}' then '${storedReason}'`)
      .join('\n')} end`

const failStatement = failQueued('fail_suppressed', 'Fails queued sends whose contact is suppressed.', {
  failure: reasonByCause,
  join: sqlText`
    ${''}
    cross join lateral (
      select ${suppressedFor('$3::bytea')} as cause) suppressed`,
  which: sqlText`
    s.request_id = any((select $2::uuid[])::uuid[])
    and suppressed.cause is not null`,
  parameters: '; $2: the sends; $3: the key of the hashes of erased contacts',
})

/** Fails those of the sends that are queued, and whose contact is suppressed. */
export function failSuppressed(
  db: Database | Transaction,
  requestIds: readonly string[],
  suppressionKey: Buffer,
): Promise<FailedSend[]> {
  return failStatement(db, [requestIds.length, requestIds, suppressionKey])
}
