import { ownExpiry } from '../admission/new-send.ts'
import { announceChange, columnsOfChange } from '../callbacks/new-callbacks.ts'
import { notCounted } from '../ceilings/ceiling-rule.ts'
import { addChecks } from '../claim-rule.ts'
import type { Database, Transaction } from '../connection/client.ts'
import { countChanges, countedColumns } from '../counters/counted-as.ts'
import { attemptInRow } from '../delivery/attempt-in-row.ts'
import { isoText, prepared, sqlText } from '../statement.ts'
import { isCanceledInDoubt } from './doubt-rule.ts'
import { attemptsToEvents, endOf, eventOf } from './event-sql.ts'

/** The states of sends that may be replayed. */
export type ReplayableStatus = 'failed' | 'uncertain'

/** How many sends of a set become due per second, so that a channel that has just recovered isn't flooded. */
export const replaysPerSecond = 20
/** How many sends of a set are replayed unless an operator sets another limit. */
export const defaultReplayLimit = 1000

/** SQL that is true for a send `s` that its client wanted to be sent by now, or not at all. */
export const isPastOwnExpiry = sqlText`
  coalesce(
    ${ownExpiry}
    <= clock_timestamp(), false)`

/**
 * SQL that is true for a send `s` with one of the states that can be replayed: not erased, with its media and its channel, and
 * neither canceled nor past its client's own limit, since a client relies on it that nothing more is sent.
 */
export const canBeReplayed = (statuses: string) => sqlText`
  (s.status = any(${statuses}) and s.failure is not null
   and not ${isCanceledInDoubt}
   and not ${isPastOwnExpiry}
   and ((s.message->'media'->>'sizeBytes' is null
         and not s.message @? '$.email.attachments[*].sizeBytes')
        or exists (select from media m where m.request_id = s.request_id))
   and exists (select from channels c where c.id = s.channel_id and c.deleted_at is null))`

/** A worker finds a replayed send, which has no wake-up, within this time. It must not expire before. */
const foundWithinSeconds = 30

/**
 * SQL of CTEs that queue sends again; one of them is `written`, the sends by then. The last attempt of each send moves to
 * send_events, so that the row is free for the next one, which starts a new series of retries. The reconciler wakes the endpoints.
 *
 * @param chosen SQL of the sends' rows, locked.
 * @param before SQL of the number of sends of the same set replayed so far.
 */
export const replaying = (chosen: string, before: string) => sqlText`
  -- The sends to replay, locked.
  chosen as materialized (
    ${chosen}),
  -- Sends to suppressed contacts are failed, also if they would wait.
  checked as (
    ${addChecks('chosen')}),
  -- When each falls due, and its last attempt.
  due as (
    select s.request_id, s.channel_id, s.counted_as,
           ${attemptInRow},
           clock_timestamp() as replayed_at,
           clock_timestamp() + (${before} + row_number() over (order by seq) - 1)
             / ${replaysPerSecond}::float8 * interval '1 s' as due_at
    from chosen s),
  -- The events of that attempt, and of the replay.
  events as (
    ${attemptsToEvents(
      'due',
      endOf('a.ended_at'),
      eventOf('a.replayed_at', 'replayed', { nextAttemptAt: isoText('a.due_at') }),
    )}),
  -- Their next states, numbered. They expire by the channel's present setting, and by their own limits.
  written as (
    update sends s set
      status = 'queued',
      finished_at = null,
      failure = null,
      next_attempt_at = due.due_at,
      attempts_before_replay = s.attempt,
      ${notCounted},
      losses = 0,
      claimed_at = null,
      claim_id = null,
      worker = null,
      attempt_record = null,
      provider_message_id = null,
      expires_at = least(
        ${ownExpiry},
        case when channels.expire_after_seconds is not null then
          due.due_at + greatest(channels.expire_after_seconds, ${foundWithinSeconds}) * interval '1 s' end),
      change_number = s.change_number + 1,
      counted_as = case when s.counted_as is not null then
          counted_as('queued', s.delivery, null, null, null)
        else s.counted_as end
    from due join channels on channels.id = due.channel_id
    where s.request_id = due.request_id
    returning
      s.request_id, s.status, s.seq,
      ${countedColumns('due.counted_as')},
      ${columnsOfChange({ type: "'message.replayed'" })}),
  ${announceChange},
  ${countChanges}`

// Waits for a concurrent replay of the same send, to see its result.
const oneToReplay = sqlText`
  select s.* from sends s
  where s.request_id = $1 and ${canBeReplayed("'{failed,uncertain}'")}
  for no key update of s`

const replayOneStatement = prepared<{ seq: string }>(
  'replay_send',
  'Queues a failed or uncertain send again.',
  sqlText`
    with
    ${replaying(oneToReplay, '0')}
    select seq from written`,
)

/**
 * Queues a failed or uncertain send again, whatever its reason, since an operator has chosen this send.
 *
 * @returns whether there was such a send, with its media and its channel.
 */
export async function replaySend(db: Database | Transaction, requestId: string): Promise<boolean> {
  return (await replayOneStatement(db, [requestId])).length === 1
}
