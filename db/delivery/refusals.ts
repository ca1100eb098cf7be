import {
  endsInMs,
  hasLimits,
  isBehind,
  isLimited,
  isQueued,
  isReady,
  isSuppressed,
  moreUrgent,
  needsOnlyTime,
  permitInMs,
  waitsForNoTime,
} from '../claim-rule.ts'
import type { Database } from '../connection/client.ts'
import { reasonsToWait } from '../reasons-to-wait.ts'
import { isGiven, prepared, sqlText } from '../statement.ts'

/** Why a send could not be claimed: when it can be claimed, or what it waits for. */
export interface Refusal {
  requestId: string
  /** Time until it is due; null if it waits for something else, or nothing is left to do. */
  dueInMs: number | null
  /** Whether it has ended, or waits for an earlier send of its lane. Then the lane's head has to be looked up. */
  wakesLaneHead: boolean
  /** Whether its contact is suppressed, so that it has to fail. */
  isSuppressed: boolean
  /** Whether it is due in quiet hours, or would pass a ceiling, so that it has to be postponed. */
  isToPostpone: boolean
  channelId: string
  /** The channel's provider; null unless it has a fallback. */
  fallsBackFrom: string | null
  /** The limited channel if it waits for a permit. */
  waitsForPermitOf: string | null
  /** A more urgent send of its channel, which goes in its place. */
  goesFirst: string | null
}

const refusalsStatement = prepared<Refusal>(
  'refusals',
  'Finds why sends could not be claimed, and when they can be.',
  sqlText`
    -- $1: the sends; $2: the key of the hashes of erased contacts.
    with
    -- The sends, and whether they have to fail.
    asked as (
      select s.*, row_number() over (partition by s.channel_id
                                     order by s.priority desc, s.next_attempt_at desc, s.seq desc) - 1 as later,
             ${isQueued} and ${isSuppressed('$2::bytea')} as is_suppressed
      from sends s
      where ${isGiven('s.request_id')}),
    -- Whether they need a permit, and the time until the wake-up by the one they have.
    permit as (
      select s.request_id, limited.is_needed,
             case when limited.is_needed then
               ${permitInMs} end as in_ms
      from asked s join channels on channels.id = s.channel_id
        cross join lateral (
          select ${isLimited}
            as is_needed) limited)
    select request_id as "requestId", s.is_suppressed as "isSuppressed",
           ${isReady()}
             and (${reasonsToWait.quiet_hours.isWaiting}
                  or ${reasonsToWait.ceiling.isWaiting}) as "isToPostpone",
           channels.id as "channelId",
           case when channels.fallback_channel_id is not null then channels.provider end as "fallsBackFrom",
           s.finished_at is not null or (${isQueued} and ${isBehind}) as "wakesLaneHead",
           case when ${needsOnlyTime} then
             greatest(${endsInMs}, permit.in_ms, 0)
           end as "dueInMs",
           case when ${needsOnlyTime}
                  and ${waitsForNoTime}
                  and permit.is_needed and permit.in_ms is null
             then channels.id
           end as "waitsForPermitOf",
           case when ${needsOnlyTime}
                  and ${waitsForNoTime}
                  and not ${hasLimits}
                  and (permit.in_ms is not null or not permit.is_needed) then
             (select first.request_id from (
                ${moreUrgent('mine')}) first
              offset mine.later limit 1)
           end as "goesFirst"
    from asked s join channels on channels.id = s.channel_id join permit using (request_id)
      cross join lateral (select s.channel_id, s.priority, s.later) mine`,
)

/** Why sends can't be claimed. Unknown sends are missing from the result. */
export function findRefusals(
  db: Database,
  requestIds: readonly string[],
  suppressionKey: Buffer,
): Promise<Refusal[]> {
  return refusalsStatement(db, [requestIds, suppressionKey])
}
