import type { WakeUp } from '../../src/core/sends/send-job.ts'
import type { AttemptRecord, SendStatus } from '../../src/core/sends/timeline.ts'
import {
  announceChange,
  announceEndsAndReceipts,
  columnsOfChange,
  columnsOfChanges,
  theirEndpoints,
} from '../callbacks/new-callbacks.ts'
import type { Database, Transaction } from '../connection/client.ts'
import { costColumns, costOfAnswer, countCosts, messageOfCost, setCosts } from '../counters/costs.ts'
import { countChanges, countedColumns } from '../counters/counted-as.ts'
import { keepMessageIds } from '../receipts/message-ids.ts'
import { newKeys } from '../receipts/receipt-rule.ts'
import { attemptsToEvents, eventOf } from '../sends/event-sql.ts'
import { isOneOf, isoText, prepared, sqlText } from '../statement.ts'
import { claimIsLost } from './attempt-in-row.ts'
import { type AppliedReceipts, appliedReceipts, applyingReceipts, sentByOutcome } from './kept-receipts.ts'
import { nextInLane } from './next-in-lane.ts'

/** The outcome of an attempt, and the verdict about its send, as the statement takes them. */
export interface OutcomeRow {
  requestId: string
  claimId: string
  status: Exclude<SendStatus, 'sending'>
  record: AttemptRecord
  /** Why it failed, is uncertain or is retried. */
  reason: string | undefined
  /** Time until the next attempt; only if the status is `queued`. */
  delayMs: number | undefined
  holdsChannel?: boolean
  /** Whether receipts find it by the provider's id of its message. */
  isFoundById?: boolean
  /** Whether the attempt isn't counted, although it was begun. */
  isUncounted?: boolean
  /** Whether the next attempt is due since this one was, so that the send stays before others. */
  keepsDueTime?: boolean
  /** The channel's config of the attempt. A channel whose config was changed meanwhile is not held. */
  sealedConfig?: string | undefined
}

/** A send whose outcome was recorded. */
export interface RecordedRow {
  requestId: string
  /** Null if the send has ended. */
  nextAttemptAt: Date | null
  /** Time from its accept, or from the time that it was scheduled for, to its end; null if it is retried. */
  tookSeconds: number | null
  /** The wake-up of the next send in its lane, which may go now that this one has ended. */
  nextInLane: WakeUp | null
  /** Null or absent if no receipt came during the call. */
  receipts?: AppliedReceipts | null
  /** The endpoints that get a callback about it, and may be called now. */
  endpointsToWake: string[] | null
}

const tookSeconds = (s: string) =>
  sqlText`
  extract(epoch from ${s}.finished_at
                     - greatest(${s}.accepted_at, ${s}.send_at))::float8 as "tookSeconds"`

/** SQL of the CTE `outcomes`. */
const givenOutcomes = sqlText`
  -- The given outcomes and verdicts.
  outcomes as materialized (
    select * from json_to_recordset($1) as
      ("requestId" uuid, "claimId" uuid, status text, record json, reason text, "delayMs" float8,
       "holdsChannel" boolean, "isUncounted" boolean, "keepsDueTime" boolean, "sealedConfig" text,
       "isFoundById" boolean))`

/** SQL of CTEs with what follows of the sends of `ended` that were `written` as queued again: events, and held channels. */
const followRetries = sqlText`
  -- The attempts that are no longer in their rows.
  retried as (
    select ended.*, null::json as loss, written.retried_at,
           case when "holdsChannel" then ended_at end as held_at,
           case when "holdsChannel" is not true then ended_at end as scheduled_at
    from ended join written using (request_id)
    where ended.status = 'queued'),
  -- Their events.
  events as (
    ${attemptsToEvents(
      'retried',
      eventOf('a.held_at', 'channel_held', { reason: 'a.reason' }),
      eventOf('a.scheduled_at', 'retry_scheduled', {
        reason: 'a.reason',
        nextAttemptAt: isoText('a.retried_at'),
      }),
    )}),
  -- Holds the channels that their provider refused; not if the config was replaced meanwhile.
  held as (
    update channels set held_at = now(), held_reason = refusal.reason
    from (select distinct on (channel_id) channel_id, reason, "sealedConfig" from ended where "holdsChannel") refusal
    where channels.id = refusal.channel_id and held_at is null and channels.sealed_config = refusal."sealedConfig"),
  -- An uncounted attempt's number is used again, but its permit isn't, because the call may have been made.
  used_up as (
    delete from permits using ended
    where ended."isUncounted" and permits.request_id = ended.request_id)`

/** SQL of the sends `s` of `outcomes` whose outcome was recorded before. */
const wereRecorded = sqlText`
  ${isOneOf('s.request_id', 'outcomes')}
  and s.status <> 'sending' and s.claim_id = outcomes."claimId"
  and not ${claimIsLost}`

/**
 * Fenced by the claim: the outcome of a claim that no longer holds changes nothing. An outcome that was recorded before, but whose
 * answer was lost, is found again. Rows are locked in the order of their ids; otherwise two batches could deadlock. The row of a send
 * that is retried loses the attempt, which is moved to send_events.
 */
const outcomeStatement = prepared<RecordedRow>(
  'record_outcomes',
  'Records the outcomes of attempts, and finds the next send of each lane.',
  sqlText`
    with
    ${givenOutcomes},
    -- The outcomes whose claim holds, with the attempt from the send's row. Locked in the order of ids.
    ended as materialized (
      select s.request_id, s.channel_id, s.attempt, s.worker, s.claimed_at, s.counted_as,
             clock_timestamp() as ended_at,
             outcomes.*
      from sends s join outcomes on outcomes."requestId" = s.request_id
      where ${isOneOf('s.request_id', 'outcomes')}
        and s.status = 'sending' and s.claim_id = outcomes."claimId" and s.pending_receipts is null
      order by s.request_id
      for no key update of s),
    -- The sends' next states, numbered.
    written as (
      update sends s set
        status = ended.status,
        finished_at = case when ended.status <> 'queued' then ended.ended_at end,
        attempt = s.attempt - case when ended."isUncounted" and ended.status = 'queued' then 1 else 0 end,
        next_attempt_at = case when ended.status = 'queued' and ended."keepsDueTime" is not true
                               then ended.ended_at + coalesce(ended."delayMs", 0) * interval '1 ms'
                               else s.next_attempt_at end,
        claimed_at = case when ended.status <> 'queued' then s.claimed_at end,
        attempt_record = case when ended.status <> 'queued' then ended.record end,
        failure = case when ended.status in ('failed', 'uncertain') then ended.reason end,
        provider_message_id = ended.record->>'providerMessageId',
        change_number = s.change_number + case when ended.status <> 'queued' then 1 else 0 end,
        counted_as = case when s.counted_as is not null then
            counted_as(
              ended.status, s.delivery,
              case when ended.status in ('failed', 'uncertain') then ended.reason end,
              case when ended.status <> 'queued' then ended.record end, null)
          else s.counted_as end
      from ended
      where s.request_id = ended.request_id
      returning
        s.request_id, s.status, s.lane, s.seq, s.next_attempt_at, s.send_at, s.finished_at,
        greatest(s.next_attempt_at, ended.ended_at) as retried_at,
        ${countedColumns('ended.counted_as')},
        ${columnsOfChange({ providerCode: "ended.record->>'providerCode'", isChange: "s.status <> 'queued'" })}),
    ${announceChange},
    ${countChanges},
    ${followRetries}
    select request_id as "requestId", case when status = 'queued' then retried_at end as "nextAttemptAt",
           ${tookSeconds('written')},
           ${nextInLane('written')},
           ${theirEndpoints}
    from written
    union all
    -- The outcomes that were recorded before, but whose answer was lost.
    select s.request_id, case when s.status = 'queued' then s.next_attempt_at end,
           ${tookSeconds('s')},
           ${nextInLane('s')}, null
    from sends s join outcomes on outcomes."requestId" = s.request_id
    where ${wereRecorded}`,
)

const outcomeWithReceiptsStatement = prepared<RecordedRow>(
  'record_outcomes_with_receipts',
  'Like record_outcomes, for sends of which receipts came during the call, and for answers with a cost.',
  sqlText`
    with
    ${givenOutcomes},
    -- The outcomes whose claim holds, with the attempt from the send's row. Locked in the order of ids.
    attempted as materialized (
      select s.request_id, s.channel_id, s.attempt, s.worker, s.claimed_at, s.counted_as,
             clock_timestamp() as ended_at,
             s.contact_type, s.attempts_before_replay, s.receipt_keys, s.pending_receipts,
             s.costs, s.segments, s.message_type,
             ${costOfAnswer('outcomes.record', messageOfCost("outcomes.record->>'providerMessageId'", 's.attempts_before_replay::text'))},
             outcomes.*
      from sends s join outcomes on outcomes."requestId" = s.request_id
      where ${isOneOf('s.request_id', 'outcomes')}
        and s.status = 'sending' and s.claim_id = outcomes."claimId"
      order by s.request_id
      for no key update of s),
    ${applyingReceipts(sentByOutcome, "s.record->>'providerMessageId'")},
    -- As decided, unless a receipt says that the provider has it.
    ended as materialized (
      select a.request_id, a.channel_id, a.attempt, a.worker, a.claimed_at, a.counted_as, a.ended_at, a.record, a.reason,
             a."delayMs", a."holdsChannel", a."isUncounted", a."keepsDueTime", a."sealedConfig",
             case when a."isFoundById" then a.record->>'providerMessageId' end as message_id,
             a.costs, a.segments, a.message_type, a.new_costs, a.new_parts,
             case when changes.confirmed then 'sent' else a.status end as status,
             coalesce(changes.confirmed, false) as confirms
      from attempted a left join changes using (request_id)),
    -- The sends' next states, numbered.
    written as (
      update sends s set
        status = ended.status,
        finished_at = case when ended.status <> 'queued' then ended.ended_at end,
        attempt = s.attempt - case when ended."isUncounted" and ended.status = 'queued' then 1 else 0 end,
        next_attempt_at = case when ended.status = 'queued' and ended."keepsDueTime" is not true
                               then ended.ended_at + coalesce(ended."delayMs", 0) * interval '1 ms'
                               else s.next_attempt_at end,
        claimed_at = case when ended.status <> 'queued' then s.claimed_at end,
        attempt_record = case when ended.status <> 'queued' then ended.record end,
        failure = case when ended.status in ('failed', 'uncertain') then ended.reason end,
        provider_message_id = coalesce(
          ended.record->>'providerMessageId', case when ended.confirms then changes.new_id end),
        pending_receipts = null,
        delivery = changes.new_state,
        delivery_at = case when changes.new_state is not null then changes.at end,
        receipt_keys = nullif(${newKeys}, '{}'),
        ${setCosts('ended', 'ended', 'changes')},
        change_number = s.change_number + case when ended.status <> 'queued' then 1 else 0 end
          + coalesce(cardinality(changes.new_states), 0) + coalesce(changes.complaints, 0)::int,
        counted_as = case when s.counted_as is not null then
            counted_as(
              ended.status, changes.new_state,
              case when ended.status in ('failed', 'uncertain') then ended.reason end,
              case when ended.status <> 'queued' then ended.record end, changes.new_code)
          else s.counted_as end
      from ended left join changes using (request_id)
      where s.request_id = ended.request_id
      returning
        s.request_id, s.status, s.lane, s.seq, s.next_attempt_at, s.send_at, s.finished_at, ended.confirms,
        greatest(s.next_attempt_at, ended.ended_at) as retried_at,
        ${countedColumns('ended.counted_as')},
        ${costColumns('ended')},
        ${columnsOfChanges}),
    ${announceEndsAndReceipts("ended.record->>'providerCode'")},
    ${countChanges},
    ${countCosts},
    ${keepMessageIds('ended')},
    ${followRetries}
    select request_id as "requestId", case when status = 'queued' then retried_at end as "nextAttemptAt",
           ${tookSeconds('written')},
           ${nextInLane('written')},
           ${theirEndpoints},
           ${appliedReceipts('written.request_id', 'confirms')} as receipts
    from written
    union all
    -- The outcomes that were recorded before, but whose answer was lost.
    select s.request_id, case when s.status = 'queued' then s.next_attempt_at end,
           ${tookSeconds('s')},
           ${nextInLane('s')}, null, null
    from sends s join outcomes on outcomes."requestId" = s.request_id
    where ${wereRecorded}`,
)

/**
 * Records the outcomes of attempts. Sends whose claim no longer holds are missing from the result, and those with a cost in the answer,
 * with receipts that came during the call, or whose receipts find them by the provider's id: they have a statement of their own, so that the usual one doesn't pay for them.
 */
export async function recordUsualOutcomes(
  db: Database | Transaction,
  outcomes: readonly OutcomeRow[],
): Promise<RecordedRow[]> {
  const usual = outcomes.filter(({ record, isFoundById }) => record.cost === undefined && !isFoundById)
  return usual.length === 0 ? [] : await outcomeStatement(db, [JSON.stringify(usual)])
}

/** Records the outcomes of attempts during which receipts came, and of answers with a cost. */
export async function recordOutcomesWithReceipts(
  db: Database | Transaction,
  outcomes: readonly OutcomeRow[],
): Promise<RecordedRow[]> {
  return outcomes.length === 0 ? [] : await outcomeWithReceiptsStatement(db, [JSON.stringify(outcomes)])
}

/** Records the outcomes of attempts. Sends whose claim no longer holds are missing from the result. */
export async function recordOutcomes(
  db: Database | Transaction,
  outcomes: readonly OutcomeRow[],
): Promise<RecordedRow[]> {
  const recorded = await recordUsualOutcomes(db, outcomes)
  return [...recorded, ...(await recordOutcomesWithReceipts(db, withoutRows(outcomes, recorded)))]
}

/** The outcomes that are not among the recorded ones. */
export function withoutRows<Outcome extends OutcomeRow>(
  outcomes: readonly Outcome[],
  recorded: readonly RecordedRow[],
): Outcome[] {
  if (recorded.length === outcomes.length) return []
  const known = new Set(recorded.map(({ requestId }) => requestId))
  return outcomes.filter(({ requestId }) => !known.has(requestId))
}
