import { isReady } from '../claim-rule.ts'
import type { Database, Transaction } from '../connection/client.ts'
import { quietUntil } from '../reasons-to-wait.ts'
import { eventOf } from '../sends/event-sql.ts'
import { isGiven, isoText, prepared, sqlText } from '../statement.ts'
import { isOfAnyPriority } from './priority-rule.ts'

/** A send that waits for the end of quiet hours. */
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
                   ends.until - interval '1 s') is not null
   order by zone limit 1)`

const postponeStatement = prepared<Postponed>(
  'postpone_sends',
  'Makes sends due at the end of their quiet hours, so that no search for due sends finds them before.',
  sqlText`
    -- $1: the sends.
    with
    -- Those that are quiet now, locked in the order of their ids.
    asked as materialized (
      select s.request_id, ends.until,
             concat('quiet hours until ', to_char(ends.until at time zone clock.zone, 'YYYY-MM-DD HH24:MI'),
                    ' (', clock.zone, ')') as reason
      from sends s join channels on channels.id = s.channel_id
        cross join lateral (
          select ${quietUntil}
            as until) ends
        cross join lateral (
          select coalesce(
            ${zoneOfEnd},
            channels.quiet_hours->>'zone') as zone) clock
      where ${isGiven('s.request_id')}
        and ${isReady()}
        and channels.quiet_hours is not null and ends.until is not null
      order by s.request_id
      for no key update of s skip locked),
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

/** Postpones those of the sends that are due in quiet hours of their channels. */
export function postponeSends(db: Database, requestIds: readonly string[]): Promise<Postponed[]> {
  return postponeStatement(db, [requestIds])
}

const quietStatement = prepared<{ requestId: string }>(
  'quiet_sends',
  'Finds due sends in quiet hours of their channels.',
  sqlText`
    -- $1: how many.
    select s.request_id as "requestId"
    from channels cross join lateral (
      select * from sends s
      where s.channel_id = channels.id and ${isOfAnyPriority('s')} and s.finished_at is null
        and ${isReady()}
      order by s.priority, s.next_attempt_at
      limit ${mostLookedAt}) s
    where channels.quiet_hours is not null and channels.deleted_at is null
      and ${quietUntil} is not null
    limit $1`,
)

export async function findQuietSends(db: Database, limit: number): Promise<string[]> {
  return (await quietStatement(db, [limit])).map(({ requestId }) => requestId)
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
