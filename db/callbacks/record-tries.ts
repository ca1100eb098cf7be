import type { CallbackAnswer } from '../../src/core/callbacks/callback-outcome.ts'
import type { Database } from '../connection/client.ts'
import { isUnfinished } from '../delivery/lane-rule.ts'
import { isOneOf, isoText, prepared, sqlText } from '../statement.ts'

/** A call that has ended, and what becomes of its callback. */
export interface TryRow extends Pick<CallbackAnswer, 'status' | 'reason' | 'durationMs'> {
  endpointId: string
  requestId: string
  sequence: number
  /** Calls before this one: the fence. */
  tried: number
  result: 'delivered' | 'failed' | 'given_up' | 'gone'
  /** Time until the next try of a failed one. */
  delayMs: number | null
}

/** A callback whose try was recorded. */
export interface RecordedTry {
  endpointId: string
  requestId: string
  sequence: number
  /** From the change to its delivery. */
  lagSeconds: number
  nextTryAt: Date
}

/** How many tries of a callback are kept: all of a series, and the last ones of a series before it. */
const keptTries = 20

/**
 * Fenced by the number of tries: what was recorded before, but whose answer was lost, changes nothing. A success counts
 * whatever was recorded meanwhile. Without `finished_at is null`, PostgreSQL finds the callbacks by the primary key, instead of
 * reading all that wait.
 */
const recordStatement = prepared<RecordedTry>(
  'record_tries',
  'Records the results of calls to endpoints.',
  sqlText`
    with
    -- The given results.
    given as materialized (
      select g.*, clock_timestamp() as ended_at
      from json_to_recordset($1) as g
        ("endpointId" uuid, "requestId" uuid, sequence int, tried int, status int, reason text, "durationMs" int,
         result text, "delayMs" float8)),
    -- The callbacks.
    recorded as (
      update callbacks c
      set tried = c.tried + case when g.result = 'gone' then 0 else 1 end,
          tries = (case when jsonb_array_length(c.tries) >= ${keptTries} then c.tries - 0 else c.tries end)
            || jsonb_build_object(
              'at', ${isoText('g.ended_at')},
              'status', g.status, 'reason', g.reason, 'durationMs', g."durationMs"),
          next_try_at = g.ended_at + coalesce(g."delayMs", 0) * interval '1 ms',
          finished_at = case when g.result in ('delivered', 'given_up') then g.ended_at end,
          given_up = g.result = 'given_up'
      from given g
      where c.endpoint_id = g."endpointId" and c.request_id = g."requestId" and c.sequence = g.sequence
        and c.endpoint_id = any(array(select "endpointId" from given))
        and ${isOneOf('c.request_id', 'given')}
        and ${isUnfinished('c')} and (c.tried = g.tried or g.result = 'delivered')
      returning c.endpoint_id as "endpointId", c.request_id as "requestId", c.sequence, c.next_try_at as "nextTryAt",
                extract(epoch from g.ended_at - c.created_at)::float8 as "lagSeconds",
                g.result = 'failed' or c.tried > g.tried + 1 as "movesOthers"),
    -- Callbacks that failed, or were delivered although a failure was recorded meanwhile.
    moving as materialized (
      select * from recorded where "movesOthers"),
    -- The later ones of their sends are due with them. Otherwise claims would read them early, and they would seem late.
    behind as (
      update callbacks c
      set next_try_at = m."nextTryAt"
      from moving m
      where c.endpoint_id = m."endpointId" and c.request_id = m."requestId" and c.sequence > m.sequence
        and c.endpoint_id = any(array(select "endpointId" from moving))
        and ${isOneOf('c.request_id', 'moving')}
        and ${isUnfinished('c')})
    select "endpointId", "requestId", sequence, "nextTryAt", "lagSeconds" from recorded`,
)

/** Records the results of calls. Calls that were recorded before are missing from the result. */
export function recordTries(db: Database, tries: readonly TryRow[]): Promise<RecordedTry[]> {
  return recordStatement(db, [JSON.stringify(tries)])
}
