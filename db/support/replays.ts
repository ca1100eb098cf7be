import type { Database } from '../client.ts'
import { claimIsLost } from '../delivery/lost-claims.ts'
import { attemptsToEvents, eventOf, fieldsOf } from '../events.ts'
import { isoText, prepared, sqlText } from '../statement.ts'

/** What sends may be replayed: those that have ended other than well. */
export type ReplayableStatus = 'failed' | 'uncertain'

/** Of a set, how many become due each second: a channel that has just recovered isn't flooded. */
export const replaysPerSecond = 20

/** SQL that is true of a send `s` that has ended so and can be replayed: not erased, its media and its channel still there. */
export const canBeReplayed = (statuses: string) => sqlText`
  (s.status = any(${statuses}) and s.failure is not null and
   (s.message->'media'->>'sizeBytes' is null or exists (select from media m where m.request_id = s.request_id)) and
   exists (select from channels c where c.id = s.channel_id and c.deleted_at is null))`

/** Within so many a worker has found a replayed send, which comes without a wake-up: it must not expire before. */
const foundWithinSeconds = 30

/**
 * SQL of CTEs that queue sends again, up to `replayed`, which has their `seq`. The attempt that ended a send moves to
 * send_events: the row is free for the next one, whose retries begin anew.
 *
 * @param chosen the rows of the sends, locked.
 * @param before how many of the same set have been replayed already.
 */
export const replaying = (chosen: string, before: string) => sqlText`
  chosen as materialized (
    ${chosen}),
  due as (
    select s.*, clock_timestamp() as replayed_at, s.finished_at as ended_at, s.attempt_record as record,
           case when ${claimIsLost} then ${fieldsOf('attempt_lost', { attempt: 's.attempt', reason: 's.failure' })} end as loss,
           clock_timestamp() + (${before} + row_number() over (order by seq) - 1) / ${replaysPerSecond}::float8 * interval '1 s' as due_at
    from chosen s),
  events as (
    ${attemptsToEvents(
      'due',
      `a.ended_at, a.status, ${fieldsOf('failed', { reason: 'a.failure' })}`,
      eventOf('a.replayed_at', 'replayed', { nextAttemptAt: isoText('a.due_at') }),
    )}),
  replayed as (
    update sends s
    set status = 'queued', finished_at = null, failure = null, next_attempt_at = due.due_at,
        attempts_before_replay = s.attempt, losses = 0, claimed_at = null, claim_id = null, worker = null,
        attempt_record = null, provider_message_id = null,
        expires_at = case when channels.expire_after_seconds is not null then
          due.due_at + greatest(channels.expire_after_seconds, ${foundWithinSeconds}) * interval '1 s' end
    from due join channels on channels.id = due.channel_id
    where s.request_id = due.request_id
    returning s.seq)`

// Waits where another replay of the same send is under way, so as to see what came of it.
const oneToReplay = sqlText`
  select s.* from sends s
  where s.request_id = $1 and ${canBeReplayed("'{failed,uncertain}'")}
  for no key update of s`

const replayOneStatement = prepared<{ seq: string }>(
  'replay_send',
  'Queues a failed or uncertain send again.',
  sqlText`
    with ${replaying(oneToReplay, '0')}
    select seq from replayed`,
)

/**
 * Queues a failed or uncertain send again, whatever the reason: an operator who names a single send has looked at it.
 *
 * @returns whether there was such a one, with its media and its channel.
 */
export async function replaySend(db: Database, requestId: string): Promise<boolean> {
  return (await replayOneStatement(db, [requestId])).length === 1
}
