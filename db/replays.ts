import type { Database } from './client.ts'
import { claimIsLost } from './lost-claims.ts'
import { isoText, prepared } from './statement.ts'

/** What sends may be replayed: those that have ended other than well. */
export type ReplayableStatus = 'failed' | 'uncertain'

/** Of a set, how many become due each second: a channel that has just recovered isn't flooded. */
export const replaysPerSecond = 20

const hasItsMedia = `(
  s.message->'media'->>'sizeBytes' is null or exists (select from media m where m.request_id = s.request_id))`

/** At once: a statement has to end within the time-out of the connection. */
const pageSize = 10_000

/** Within so many a worker has found a replayed send, which comes without a wake-up: it must not expire before. */
const foundWithinSeconds = 30

/** The attempt that ended the send moves to send_events: the row is free for the next one, whose retries begin anew. */
const replay = (chosen: string, lock: string) => `
  with chosen as materialized (${chosen} order by s.seq limit $3 for no key update of s ${lock}),
  due as (
    select chosen.*, clock_timestamp() as replayed_at,
           clock_timestamp() + ($4 + row_number() over (order by seq) - 1) / ${replaysPerSecond}::float8 * interval '1 s' as due_at
    from chosen),
  told as (
    insert into send_events (request_id, at, event, fields)
    select s.request_id, story.at, story.event, story.fields
    from due s cross join lateral (values
      (1, s.claimed_at is not null, s.claimed_at, 'attempt_started', json_build_object('attempt', s.attempt, 'worker', s.worker)),
      (2, ${claimIsLost}, s.finished_at, 'attempt_lost', json_build_object('attempt', s.attempt, 'reason', s.failure)),
      (3, s.attempt_record is not null, s.finished_at, 'attempt_finished', s.attempt_record),
      (4, true, s.finished_at, s.status, json_build_object('reason', s.failure)),
      (5, true, s.replayed_at, 'replayed', json_build_object('nextAttemptAt', ${isoText('s.due_at')}))
    ) as story (place, is_told, at, event, fields)
    where story.is_told
    order by s.seq, story.place)
  update sends s
  set status = 'queued', finished_at = null, failure = null, next_attempt_at = due.due_at,
      attempts_before_replay = s.attempt, losses = 0, claimed_at = null, claim_id = null, worker = null,
      attempt_record = null, provider_message_id = null,
      expires_at = case when channels.expire_after_seconds is not null then
        due.due_at + greatest(channels.expire_after_seconds, ${foundWithinSeconds}) * interval '1 s' end
  from due join channels on channels.id = due.channel_id
  where s.request_id = due.request_id
  returning s.request_id as "requestId"`

// Waits where another replay of the same send is under way, so as to see what came of it.
const replayOneStatement = prepared<{ requestId: string }>(
  'replay_send',
  replay(
    `select s.* from sends s
     where s.request_id = $1 and s.status = any($2) and s.failure is not null and ${hasItsMedia}`,
    '',
  ),
)

const replaySetStatement = prepared<{ requestId: string }>(
  'replay_sends',
  replay(
    `select s.* from sends s
     where s.channel_id = $1 and s.status = any($2) and s.failure is not null and ${hasItsMedia}`,
    'skip locked',
  ),
)

/** Queues a send again that has failed or is uncertain. @returns whether there was such a one, with its media. */
export async function replaySend(db: Database, requestId: string): Promise<boolean> {
  const statuses: ReplayableStatus[] = ['failed', 'uncertain']
  return (await replayOneStatement(db, [requestId, statuses, 1, 0])).length === 1
}

/**
 * Queues a channel's sends of that status again, the oldest first; those whose media is no longer kept are left out.
 *
 * @returns how many.
 */
export async function replaySends(
  db: Database,
  set: { channelId: string; status: ReplayableStatus; limit: number },
): Promise<number> {
  let replayed = 0
  while (replayed < set.limit) {
    const limit = Math.min(pageSize, set.limit - replayed)
    const { length } = await replaySetStatement(db, [set.channelId, [set.status], limit, replayed])
    replayed += length
    if (length < limit) break
  }
  return replayed
}
