import { callbackColumns, insertCallbacks, typeByStatus } from '../callbacks/new-callbacks.ts'
import { prepared, sqlText } from '../statement.ts'

/**
 * Creates a statement that fails queued sends, up to `$1` at a time. It removes the claim from the row, from which the timeline
 * would otherwise derive the last attempt a second time.
 *
 * @param purpose one sentence, for db/statements.sql.
 * @param failure SQL of the reason.
 * @param which SQL condition on the unfinished sends.
 * @param parameters what its parameters are, if it has some.
 */
export const failQueued = (name: string, purpose: string, failure: string, which: string, parameters = '') =>
  prepared<{ requestId: string }>(
    name,
    purpose,
    sqlText`
      -- $1: how many${parameters}.
      with
      failed as (
        update sends s
        set status = 'failed', failure = ${failure}, finished_at = clock_timestamp(),
            claimed_at = null, claim_id = null, change_number = s.change_number + 1
        from (select request_id from sends
              where finished_at is null and status = 'queued'
                and ${which}
              order by request_id
              limit $1
              for no key update skip locked) chosen
        where s.request_id = chosen.request_id
        returning s.request_id,
                  ${callbackColumns({ type: typeByStatus() })}),
      -- The callbacks. The reconciler wakes them.
      announced as (
        ${insertCallbacks('failed')})
      select request_id as "requestId" from failed`,
  )
