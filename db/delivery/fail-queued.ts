import { announceChange, columnsOfChange } from '../callbacks/new-callbacks.ts'
import { countChanges, countedColumns } from '../counters/counted-as.ts'
import { prepared, sqlText } from '../statement.ts'

/** A queued send that was failed. */
export interface FailedSend {
  requestId: string
  reason: string
}

interface Failing {
  /** SQL of the reason. */
  failure: string
  /** SQL condition on the unfinished sends `s`. */
  which: string
  /** SQL of what is joined to them, for the reason and the condition. */
  join?: string
  /** The meanings of the further parameters. */
  parameters?: string
}

/**
 * Creates a statement that fails queued sends, up to `$1` at a time. It removes the claim from the row, from which the timeline
 * would otherwise derive the last attempt a second time. The reconciler wakes the endpoints.
 *
 * @param purpose one sentence, for db/statements.sql.
 */
export function failQueued(
  name: string,
  purpose: string,
  { failure, which, join = '', parameters = '' }: Failing,
) {
  return prepared<FailedSend>(
    name,
    purpose,
    sqlText`
      -- $1: how many${parameters}.
      with
      -- The sends, locked, and why they fail.
      chosen as materialized (
        select s.request_id, s.counted_as, ${failure} as failure
        from sends s${join}
        where s.finished_at is null and s.status = 'queued'
          and ${which}
        order by s.request_id
        limit $1
        for no key update of s skip locked),
      -- Their next states, numbered.
      written as (
        update sends s set
          status = 'failed',
          failure = chosen.failure,
          finished_at = clock_timestamp(),
          claimed_at = null,
          claim_id = null,
          change_number = s.change_number + 1,
          counted_as = case when s.counted_as is not null then
              counted_as('failed', s.delivery, chosen.failure, s.attempt_record, null)
            else s.counted_as end
        from chosen
        where s.request_id = chosen.request_id
        returning
          s.request_id, s.status, s.failure,
          ${countedColumns('chosen.counted_as')},
          ${columnsOfChange()}),
      ${announceChange},
      ${countChanges}
      select request_id as "requestId", failure as reason from written`,
  )
}
