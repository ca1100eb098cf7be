import type { WakeUp } from '../../src/core/send-job.ts'
import type { AttemptRecord, SendStatus } from '../../src/core/timeline.ts'
import { overflowOf } from '../admission/quota.ts'
import type { Database } from '../client.ts'
import { attemptsToEvents, eventOf } from '../events.ts'
import { laneOf } from '../lanes.ts'
import { isOneOf, isoText, prepared, sqlText } from '../statement.ts'
import { claimIsLost } from './lost-claims.ts'

/** What an attempt came to, for `recordOutcomes`. */
export interface AttemptOutcome {
  requestId: string
  claimId: string
  status: Exclude<SendStatus, 'sending'>
  record: AttemptRecord
  /** Why it failed, is uncertain or is tried again. */
  reason: string | undefined
  /** Until the next attempt; only where the status is `queued`. */
  delayMs: number | undefined
  holdsChannel?: boolean
  /** Not an attempt to be counted, though it was begun. */
  isUncounted?: boolean
  /** The channel's config that was used: one that was fixed meanwhile is not held for the old one's sake. */
  sealedConfig?: string | undefined
}

export interface RecordedOutcome {
  requestId: string
  /** Where it is to be tried again. */
  nextAttemptAt: Date | null
  /** From its accept to its end; null where it is to be tried again. */
  tookSeconds: number | null
  /** Of the send that stood behind it in its lane, and may go now that it has ended. */
  nextInLane: WakeUp | null
}

const tookSeconds = (s: string) =>
  `extract(epoch from ${s}.finished_at - ${s}.accepted_at)::float8 as "tookSeconds"`

const nextInLane = (s: string) => sqlText`
  case when ${s}.status <> 'queued' then
    (select json_build_object('requestId', next.request_id, 'overflowOf', ${overflowOf('next')})
     from (${laneOf(s)}) next
     where next.seq > ${s}.seq limit 1) end as "nextInLane"`

/**
 * Fenced by the claim: an outcome of one that no longer holds changes nothing, and one that is recorded already, its
 * answer lost, is found again. Rows are locked in the order of their ids, or two batches could wait for each other.
 */
const outcomeStatement = prepared<RecordedOutcome>(
  'record_outcomes',
  'Records what attempts came to, and finds the next send of each lane.',
  sqlText`
    with outcomes as materialized (
      select * from json_to_recordset($1) as
        ("requestId" uuid, "claimId" uuid, status text, record json, reason text, "delayMs" float8,
         "holdsChannel" boolean, "isUncounted" boolean, "sealedConfig" text)),
    -- Those whose claim holds, with what the rows tell of the attempt. Locked in one order.
    ended as materialized (
      select s.request_id, s.channel_id, s.attempt, s.worker, s.claimed_at, clock_timestamp() as ended_at, o.*
      from sends s join outcomes o on o."requestId" = s.request_id
      where ${isOneOf('s.request_id', 'outcomes')} and s.status = 'sending' and s.claim_id = o."claimId"
      order by s.request_id
      for no key update of s),
    -- A send that is to be tried again forgets the attempt, which becomes events.
    written as (
      update sends s
      set status = e.status,
          finished_at = case when e.status <> 'queued' then e.ended_at end,
          attempt = s.attempt - case when e."isUncounted" then 1 else 0 end,
          next_attempt_at = case when e.status = 'queued' then e.ended_at + coalesce(e."delayMs", 0) * interval '1 ms'
                                 else s.next_attempt_at end,
          claimed_at = case when e.status <> 'queued' then s.claimed_at end,
          attempt_record = case when e.status <> 'queued' then e.record end,
          provider_message_id = e.record->>'providerMessageId',
          failure = case when e.status <> 'queued' then e.reason end
      from ended e
      where s.request_id = e.request_id
      returning s.request_id, s.status, s.next_attempt_at, s.accepted_at, s.finished_at, s.lane, s.seq),
    retried as (
      select e.*, null::json as loss, w.next_attempt_at,
             case when "holdsChannel" then ended_at end as held_at,
             case when "holdsChannel" is not true then ended_at end as scheduled_at
      from ended e join written w using (request_id)
      where e.status = 'queued'),
    events as (
      ${attemptsToEvents(
        'retried',
        eventOf('a.held_at', 'channel_held', { reason: 'a.reason' }),
        eventOf('a.scheduled_at', 'retry_scheduled', {
          reason: 'a.reason',
          nextAttemptAt: isoText('a.next_attempt_at'),
        }),
      )}),
    -- Not for the sake of a config that was replaced meanwhile.
    held as (
      update channels set held_at = now(), held_reason = refusal.reason
      from (select distinct on (channel_id) channel_id, reason, "sealedConfig" from ended where "holdsChannel") refusal
      where channels.id = refusal.channel_id and held_at is null and channels.sealed_config = refusal."sealedConfig"),
    -- The attempt's number is used again, its permit isn't: the call may have been made.
    used_up as (
      delete from permits p using ended e where e."isUncounted" and p.request_id = e.request_id)
    select request_id as "requestId", case when status = 'queued' then next_attempt_at end as "nextAttemptAt",
           ${tookSeconds('written')},
           ${nextInLane('written')}
    from written
    union all
    -- Those that were recorded before, and whose answer was lost.
    select s.request_id, case when s.status = 'queued' then s.next_attempt_at end,
           ${tookSeconds('s')},
           ${nextInLane('s')}
    from sends s join outcomes o on o."requestId" = s.request_id
    where ${isOneOf('s.request_id', 'outcomes')} and s.status <> 'sending' and s.claim_id = o."claimId"
      and not ${claimIsLost}`,
)

/** Records what attempts came to. Those whose claim no longer holds are missing from the answer. */
export function recordOutcomes(db: Database, outcomes: readonly AttemptOutcome[]) {
  return outcomeStatement(db, [JSON.stringify(outcomes)])
}
