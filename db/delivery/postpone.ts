import { ceilingPassed, ceilingUntil, isCeilingReached } from '../ceilings/ceiling-rule.ts'
import { isReady } from '../claim-rule.ts'
import type { Database, Transaction } from '../connection/client.ts'
import { quietUntil } from '../reasons-to-wait.ts'
import { eventOf } from '../sends/event-sql.ts'
import { isGiven, isoText, prepared, sqlText } from '../statement.ts'
import { isOfAnyPriority } from './priority-rule.ts'

/** A send that waits for the end of quiet hours, or for the next period of a ceiling. */
export interface Postponed {
  requestId: string
  reason: string
  nextAttemptAt: Date
  inMs: number
}

/** So many of a channel's first due sends are looked at. */
const mostLookedAt = 5000

/** The zone in which the quiet hours end last, as far as one can tell by its clock at that time. */
const zoneOfEnd = sqlText`
  (select zone from unnest(quiet_zones(channels.quiet_hours, s.contact_type, s.contact_value)) zone
   where quiet_end((channels.quiet_hours->>'from')::time, (channels.quiet_hours->>'until')::time, zone,
                   ends.quiet - interval '1 s') is not null
   order by zone limit 1)`

const postponeStatement = prepared<Postponed>(
  'postpone_sends',
  'Makes sends due when their quiet hours or the periods of their ceilings end, so that no search for due sends finds them before.',
  sqlText`
    -- $1: the sends.
    with
    -- Those that may not go now, locked in the order of their ids.
    asked as materialized (
      select s.request_id, greatest(ends.quiet, ends.ceiling) as until,
             case when ends.ceiling >= coalesce(ends.quiet, ends.ceiling)
                  then ${ceilingPassed}
                  else concat('quiet hours until ', to_char(ends.quiet at time zone clock.zone, 'YYYY-MM-DD HH24:MI'),
                              ' (', clock.zone, ')') end as reason
      from sends s join channels on channels.id = s.channel_id
        cross join lateral (
          select ${quietUntil} as quiet,
                 ${ceilingUntil} as ceiling) ends
        cross join lateral (
          select case when ends.quiet is not null then coalesce(
            ${zoneOfEnd},
            channels.quiet_hours->>'zone') end as zone) clock
      where ${isGiven('s.request_id')}
        and ${isReady()}
        and num_nonnulls(ends.quiet, ends.ceiling) > 0
      order by s.request_id
      for no key update of s skip locked),
    -- Their new due times.
    postponed as (
      update sends s set next_attempt_at = asked.until
      from asked where s.request_id = asked.request_id
      returning s.request_id, asked.until, asked.reason),
    -- Their events.
    events as (
      insert into send_events (request_id, at, event, fields)
      select a.request_id, ${eventOf('clock_timestamp()', 'postponed', {
        reason: 'a.reason',
        nextAttemptAt: isoText('a.until'),
      })}
      from postponed a)
    select request_id as "requestId", reason, until as "nextAttemptAt",
           ceil(extract(epoch from until - clock_timestamp()) * 1000)::float8 as "inMs"
    from postponed`,
)

/** Postpones those of the sends that are due in quiet hours, or would pass a ceiling. */
export function postponeSends(db: Database, requestIds: readonly string[]): Promise<Postponed[]> {
  return postponeStatement(db, [requestIds])
}

const toPostponeStatement = prepared<{ requestId: string }>(
  'sends_to_postpone',
  'Finds due sends in quiet hours of their channels, and those that would pass a ceiling.',
  sqlText`
    -- $1: how many.
    select s.request_id as "requestId"
    from channels cross join lateral (
      select * from sends s
      where s.channel_id = channels.id and ${isOfAnyPriority('s')} and s.finished_at is null
        and ${isReady()}
      order by s.priority, s.next_attempt_at
      limit ${mostLookedAt}) s
    where channels.deleted_at is null
      and (channels.quiet_hours is not null or ${isCeilingReached})
      and (${quietUntil} is not null
           or ${ceilingUntil} is not null)
    limit $1`,
)

export async function findSendsToPostpone(db: Database, limit: number): Promise<string[]> {
  return (await toPostponeStatement(db, [limit])).map(({ requestId }) => requestId)
}

const recallStatement = prepared(
  'recall_postponed',
  'Makes the sends of a channel due that wait for the end of its quiet hours alone, which are about to change.',
  sqlText`
    update sends s set next_attempt_at = clock_timestamp()
    from channels
    where channels.id = $1 and s.channel_id = channels.id and ${isOfAnyPriority('s')}
      and s.finished_at is null and s.status = 'queued' and s.next_attempt_at > clock_timestamp()
      and s.next_attempt_at = ${quietUntil}`,
)

/** Before a change of a channel's quiet hours. The workers' reconcilers find and wake its sends within seconds. */
export async function recallPostponed(db: Database | Transaction, channelId: string): Promise<void> {
  await recallStatement(db, [channelId])
}
