import { causes } from '../../src/core/suppression/suppression.ts'
import type { ProviderName } from '../../src/providers/index.ts'
import { suppressedFor } from '../claim-rule.ts'
import { type Database, inTransaction, type Transaction } from '../connection/client.ts'
import { type FailedSend, failQueued } from '../delivery/fail-queued.ts'
import { type FallBack, withFallbacks } from '../delivery/fall-back.ts'
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

/** A send to fail, and its channel, if that has a fallback. */
export interface Suppressed {
  requestId: string
  channelId: string
  fallsBackFrom: ProviderName | null
}

/**
 * Fails those of the sends that are queued, and whose contact is suppressed; or lets them go on by their fallbacks, if it is
 * suppressed on their channels alone.
 */
export async function failSuppressed(
  db: Database,
  sends: readonly Suppressed[],
  suppressionKey: Buffer,
  fallBack: FallBack,
): Promise<FailedSend[]> {
  if (sends.every(({ fallsBackFrom }) => !fallsBackFrom)) return await fail(db, sends, suppressionKey)
  return await inTransaction(db, (transaction) =>
    failSuppressedIn(transaction, sends, suppressionKey, fallBack),
  )
}

/** Fails them in the caller's transaction. */
export async function failSuppressedIn(
  transaction: Transaction,
  sends: readonly Suppressed[],
  suppressionKey: Buffer,
  fallBack: FallBack,
): Promise<FailedSend[]> {
  const failed = await fail(transaction, sends, suppressionKey)
  const byId = new Map(sends.map((send) => [send.requestId, send]))
  const endedOn = ({ requestId }: FailedSend) => {
    const { channelId, fallsBackFrom: provider } = byId.get(requestId) ?? {}
    return channelId && provider ? { requestId, channelId, provider } : undefined
  }
  return await withFallbacks(transaction, failed, endedOn, fallBack)
}

const fail = (db: Database | Transaction, sends: readonly Suppressed[], suppressionKey: Buffer) => {
  const requestIds = sends.map(({ requestId }) => requestId)
  return failStatement(db, [requestIds.length, requestIds, suppressionKey])
}
