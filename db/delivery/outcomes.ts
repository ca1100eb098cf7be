import type { WakeUp } from '../../src/core/sends/send-job.ts'
import type { AttemptRecord, SendStatus } from '../../src/core/sends/timeline.ts'
import { type Changes, endAndReceiptChanges, endOnly } from '../callbacks/new-callbacks.ts'
import type { Database, Transaction } from '../connection/client.ts'
import { attemptsToEvents, eventOf } from '../sends/event-sql.ts'
import { isOneOf, isoText, prepared, sqlText } from '../statement.ts'
import { claimIsLost } from './attempt-in-row.ts'
import { changeState, type NewState, nextInLane, theirEndpoints } from './change-state.ts'
import {
  type AppliedReceipts,
  appliedReceipts,
  applyingReceipts,
  keptChanges,
  sentByOutcome,
} from './kept-receipts.ts'

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

/**
 * Fenced by the claim: the outcome of a claim that no longer holds changes nothing. An outcome that was recorded before, but whose
 * answer was lost, is found again. Rows are locked in the order of their ids; otherwise two batches could deadlock.
 */
const recording = ({ ended, set, from, changes, receipts }: Parts) => sqlText`
    with
    -- The given outcomes and verdicts.
    outcomes as materialized (
      select * from json_to_recordset($1) as
        ("requestId" uuid, "claimId" uuid, status text, record json, reason text, "delayMs" float8,
         "holdsChannel" boolean, "isUncounted" boolean, "keepsDueTime" boolean, "sealedConfig" text)),
    ${ended},
    ${changeState({
      set: {
        status: 'e.status',
        finishedAt: "case when e.status <> 'queued' then e.ended_at end",
        attempt: `s.attempt - case when e."isUncounted" and e.status = 'queued' then 1 else 0 end`,
        nextAttemptAt: sqlText`
          case when e.status = 'queued' and e."keepsDueTime" is not true
               then e.ended_at + coalesce(e."delayMs", 0) * interval '1 ms'
               else s.next_attempt_at end`,
        // The row of a send that is retried loses the attempt, which is moved to send_events.
        claimedAt: "case when e.status <> 'queued' then s.claimed_at end",
        attemptRecord: "case when e.status <> 'queued' then e.record end",
        failure: "case when e.status in ('failed', 'uncertain') then e.reason end",
        ...set,
      },
      from,
      where: 's.request_id = e.request_id',
      changes,
      counted: { before: 'e.counted_as', ...(receipts && { reportedCode: 'c.new_code' }) },
      returning: [
        's.next_attempt_at, s.send_at, s.finished_at',
        'greatest(s.next_attempt_at, e.ended_at) as retried_at',
        ...(receipts ? ['e.confirms'] : []),
      ],
    })},
    -- The attempts that are no longer in their rows.
    retried as (
      select e.*, null::json as loss, w.retried_at,
             case when "holdsChannel" then ended_at end as held_at,
             case when "holdsChannel" is not true then ended_at end as scheduled_at
      from ended e join written w using (request_id)
      where e.status = 'queued'),
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
      delete from permits p using ended e where e."isUncounted" and p.request_id = e.request_id)
    select request_id as "requestId", case when status = 'queued' then retried_at end as "nextAttemptAt",
           ${tookSeconds('written')},
           ${nextInLane('written')},
           ${theirEndpoints}${receipts ? `,\n${receipts} as receipts` : ''}
    from written
    union all
    -- The outcomes that were recorded before, but whose answer was lost.
    select s.request_id, case when s.status = 'queued' then s.next_attempt_at end,
           ${tookSeconds('s')},
           ${nextInLane('s')}, null${receipts ? ', null' : ''}
    from sends s join outcomes o on o."requestId" = s.request_id
    where ${isOneOf('s.request_id', 'outcomes')}
      and s.status <> 'sending' and s.claim_id = o."claimId"
      and not ${claimIsLost}`

/** The parts of the statement that differ with and without receipts that came during the call. */
interface Parts {
  /** SQL of CTEs up to `ended`: the sends with their outcomes. */
  ended: string
  /** SQL of further new values of the send's row, and of the relation that all of them use. */
  set: Partial<NewState>
  from: string
  changes: Changes
  /** SQL of what became of the receipts. */
  receipts?: string
}

/** SQL of the outcomes whose claim holds, with the attempt from the send's row. Locked in the order of ids. */
const attempts = (columns: string, which: string) => sqlText`
  select s.request_id, s.channel_id, s.attempt, s.worker, s.claimed_at, s.counted_as,
         clock_timestamp() as ended_at,
         ${columns}
  from sends s join outcomes o on o."requestId" = s.request_id
  where ${isOneOf('s.request_id', 'outcomes')}
    and s.status = 'sending' and s.claim_id = o."claimId" and ${which}
  order by s.request_id
  for no key update of s`

const outcomeStatement = prepared<RecordedRow>(
  'record_outcomes',
  'Records the outcomes of attempts, and finds the next send of each lane.',
  recording({
    ended: sqlText`
      -- The outcomes whose claim holds, with the attempt from the send's row. Locked in the order of ids.
      ended as materialized (
        ${attempts('o.*', 's.pending_receipts is null')})`,
    set: { providerMessageId: "e.record->>'providerMessageId'" },
    from: 'ended e',
    changes: endOnly("e.record->>'providerCode'"),
  }),
)

/** SQL of the columns of a send that its receipts need. */
const kept = 's.contact_type, s.attempts_before_replay, s.receipt_keys, s.pending_receipts, o.*'

const outcomeWithReceiptsStatement = prepared<RecordedRow>(
  'record_outcomes_with_receipts',
  'Like record_outcomes, for sends of which receipts came during the call.',
  recording({
    ended: sqlText`
      -- The outcomes whose claim holds, with the attempt from the send's row. Locked in the order of ids.
      attempted as materialized (
        ${attempts(kept, 's.pending_receipts is not null')}),
      ${applyingReceipts(sentByOutcome, "s.record->>'providerMessageId'")},
      -- As decided, unless a receipt says that the provider has it.
      ended as materialized (
        select a.request_id, a.channel_id, a.attempt, a.worker, a.claimed_at, a.counted_as, a.ended_at, a.record, a.reason,
               a."delayMs", a."holdsChannel", a."isUncounted", a."keepsDueTime", a."sealedConfig",
               case when c.confirmed then 'sent' else a.status end as status, coalesce(c.confirmed, false) as confirms
        from attempted a left join changes c using (request_id))`,
    set: {
      providerMessageId: "coalesce(e.record->>'providerMessageId', case when e.confirms then c.new_id end)",
      ...keptChanges,
    },
    from: 'ended e left join changes c using (request_id)',
    changes: endAndReceiptChanges("e.record->>'providerCode'"),
    receipts: appliedReceipts('written.request_id', 'confirms'),
  }),
)

/**
 * Records the outcomes of attempts. Those whose claim no longer holds are missing from the result, and those of which receipts came
 * during the call: these are rare, and have a statement of their own, so that the usual one doesn't pay for them.
 */
export async function recordUsualOutcomes(
  db: Database | Transaction,
  outcomes: readonly OutcomeRow[],
): Promise<RecordedRow[]> {
  return outcomes.length === 0 ? [] : await outcomeStatement(db, [JSON.stringify(outcomes)])
}

/** Records the outcomes of attempts during which receipts came. */
export async function recordOutcomesWithReceipts(
  db: Database | Transaction,
  outcomes: readonly OutcomeRow[],
): Promise<RecordedRow[]> {
  return outcomes.length === 0 ? [] : await outcomeWithReceiptsStatement(db, [JSON.stringify(outcomes)])
}

/** Records the outcomes of attempts. Those whose claim no longer holds are missing from the result. */
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
