import { oneChange } from '../callbacks/new-callbacks.ts'
import type { Database } from '../client.ts'
import { prepared, sqlText } from '../statement.ts'
import { changeState } from './change-state.ts'

interface Failing {
  /** SQL of the reason. */
  failure: string
  /** SQL condition on the unfinished sends. */
  which: string
  /** What the parameters besides `$1` are. */
  parameters?: string
}

/**
 * Creates a statement that fails queued sends, up to `$1` at a time. It removes the claim from the row, from which the timeline
 * would otherwise derive the last attempt a second time. The reconciler wakes the endpoints.
 *
 * @param purpose one sentence, for db/statements.sql.
 */
export function failQueued(name: string, purpose: string, { failure, which, parameters = '' }: Failing) {
  const statement = prepared<{ requestId: string }>(
    name,
    purpose,
    sqlText`
      -- $1: how many${parameters}.
      with
      -- The sends, locked.
      chosen as materialized (
        select request_id from sends
        where finished_at is null and status = 'queued'
          and ${which}
        order by request_id
        limit $1
        for no key update skip locked),
      ${changeState({
        set: {
          status: `'failed'`,
          failure,
          finishedAt: 'clock_timestamp()',
          claimedAt: 'null',
          claimId: 'null',
        },
        from: 'chosen',
        where: 's.request_id = chosen.request_id',
        changes: oneChange(),
      })}
      select request_id as "requestId" from written`,
  )
  return async (db: Database, values: unknown[]) =>
    (await statement(db, values)).map(({ requestId }) => requestId)
}
