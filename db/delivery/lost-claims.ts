import type { OnUncertain } from '../../src/core/sends/outcome.ts'
import { announceEndsAndReceipts, columnsOfChanges, theirEndpoints } from '../callbacks/new-callbacks.ts'
import type { Database, Transaction } from '../connection/client.ts'
import { costColumns, countCosts, setCosts } from '../counters/costs.ts'
import { countChanges, countedColumns } from '../counters/counted-as.ts'
import { newKeys } from '../receipts/receipt-rule.ts'
import { attemptsToEvents, eventOf, fieldsOf } from '../sends/event-sql.ts'
import { isOneOf, isoText, prepared, sqlText } from '../statement.ts'
import { type AppliedReceipts, appliedReceipts, applyingReceipts, sentByLoss } from './kept-receipts.ts'
import { isOrphaned, type Sweeper } from './leases.ts'

const ofSend = { worker: 's.worker', id: 's.request_id', since: 's.claimed_at' }

/** A send in `sending` that no worker processes. Its provider may have been called or not. */
export interface LostClaim {
  requestId: string
  claimId: string
  attempt: number
  attemptsBeforeReplay: number
  /** How often it has lost its worker before, since its last replay or fallback. */
  losses: number
  worker: string
  channelId: string
  provider: string
  sealedConfig: string
  onUncertain: OnUncertain
  hasFallback: boolean
  /** False if the send has not entered its conversation, and so was certainly not called. */
  mayHaveCalled: boolean
}

const mayHaveCalled = '(s.conversation_id is not null)'

const findStatement = prepared<LostClaim>(
  'find_lost_claims',
  'Finds claims that no worker will end, because their worker is dead or has dropped them.',
  sqlText`
    -- $1: how many; $2: the sweeping worker; $3: its sends in flight; $4: until when it may sweep.
    select s.request_id as "requestId", s.claim_id as "claimId", s.attempt,
           s.attempts_before_replay as "attemptsBeforeReplay", s.losses, s.worker,
           s.channel_id as "channelId", channels.provider, channels.sealed_config as "sealedConfig",
           channels.on_uncertain as "onUncertain", channels.fallback_channel_id is not null as "hasFallback",
           ${mayHaveCalled} as "mayHaveCalled"
    from sends s join channels on channels.id = s.channel_id left join workers w on w.name = s.worker
    where s.finished_at is null and s.status = 'sending'
      and ${isOrphaned(ofSend)}
    limit $1`,
)

export function findLostClaims(db: Database, sweeper: Sweeper, limit: number): Promise<LostClaim[]> {
  return findStatement(db, [limit, sweeper.worker, sweeper.inFlight, sweeper.sweepsUntil])
}

/** The decision about a send whose claim is given up. */
export interface GivenUp {
  requestId: string
  claimId: string
  mayHaveCalled: boolean
  status: 'uncertain' | 'failed' | 'queued'
  reason: string
  /** Time until the next attempt; only if the status is `queued`. */
  delayMs: number | undefined
}

/** A send whose claim was given up. */
export interface GivenUpRow {
  requestId: string
  /** Null if the send has ended. */
  nextAttemptAt: Date | null
  receipts: AppliedReceipts
  /** The endpoints that get a callback about its end, and may be called now. */
  endpointsToWake: string[] | null
}

/**
 * The claim stays in the row, marked by `claimIsLost`, so that a late outcome can be matched to it. A claim without a call is
 * removed with its attempt. If its worker is alive after all, it notices that when it enters the conversation
 * (db/delivery/conversations.ts), and makes no call. The row's lock decides which of both comes first.
 */
const giveUpStatement = prepared<GivenUpRow>(
  'give_up_claims',
  'Ends lost claims: uncertain, failed or queued again, as decided for each.',
  sqlText`
    -- $1: what was decided about each claim; $2: the sweeping worker; $3: its sends in flight; $4: until when it may sweep.
    with
    -- The given decisions.
    given_up as materialized (
      select * from json_to_recordset($1) as
        ("requestId" uuid, "claimId" uuid, "mayHaveCalled" boolean, status text, reason text, "delayMs" float8)),
    -- The claims that are still lost, with the attempt from the send's row. Locked in the order of ids.
    attempted as materialized (
      select s.request_id, s.attempt, s.worker, s.claimed_at, clock_timestamp() as ended_at, s.contact_type, s.receipt_keys,
             s.pending_receipts, s.attempts_before_replay, s.counted_as, s.costs, s.segments, s.message_type, g.*
      from sends s join given_up g on g."requestId" = s.request_id left join workers w on w.name = s.worker
      where ${isOneOf('s.request_id', 'given_up')}
        and s.status = 'sending' and s.claim_id = g."claimId" and ${mayHaveCalled} = g."mayHaveCalled"
        and ${isOrphaned(ofSend)}
      order by s.request_id
      for no key update of s),
    ${applyingReceipts(sentByLoss, 'null')},
    -- As decided, unless a receipt says that the provider has it: then nothing of the attempt stays in the row.
    ended as materialized (
      select a.request_id, a.attempt, a.worker, a.claimed_at, a.counted_as, a.ended_at, a.reason, a."delayMs",
             a.costs, a.segments, a.message_type,
             a."mayHaveCalled" and changes.confirmed is not true as "staysInRow", a."mayHaveCalled",
             case when changes.confirmed then 'sent' else a.status end as status,
             coalesce(changes.confirmed, false) as confirms
      from attempted a left join changes using (request_id)),
    -- Their next states, numbered. An attempt without a call is undone.
    written as (
      update sends s set
        status = ended.status,
        losses = s.losses + 1,
        attempt = s.attempt - case when ended."mayHaveCalled" then 0 else 1 end,
        claimed_at = case when ended."staysInRow" then s.claimed_at end,
        claim_id = case when ended."staysInRow" then s.claim_id end,
        finished_at = case when ended.status <> 'queued' then ended.ended_at end,
        next_attempt_at = case when ended.status = 'queued' then ended.ended_at + ended."delayMs" * interval '1 ms'
                               else s.next_attempt_at end,
        failure = case when ended.status in ('failed', 'uncertain') then ended.reason end,
        provider_message_id = case when ended.confirms then changes.new_id else s.provider_message_id end,
        pending_receipts = null,
        delivery = changes.new_state,
        delivery_at = case when changes.new_state is not null then changes.at end,
        receipt_keys = ${newKeys},
        ${setCosts('ended', 'changes')},
        change_number = s.change_number + case when ended.status <> 'queued' then 1 else 0 end
          + coalesce(cardinality(changes.new_states), 0) + coalesce(changes.complaints, 0)::int,
        counted_as = case when s.counted_as is not null then
            counted_as(
              ended.status, changes.new_state,
              case when ended.status in ('failed', 'uncertain') then ended.reason end,
              s.attempt_record, changes.new_code)
          else s.counted_as end
      from ended left join changes using (request_id)
      where s.request_id = ended.request_id
      returning
        s.request_id, s.status, s.next_attempt_at, ended.confirms,
        ${countedColumns('ended.counted_as')},
        ${costColumns('ended')},
        ${columnsOfChanges}),
    ${announceEndsAndReceipts('null')},
    ${countChanges},
    ${countCosts},
    -- The attempts that are no longer in their rows.
    removed as (
      select e.*, null::json as record, w.next_attempt_at,
             case when "mayHaveCalled" then ${fieldsOf('attempt_lost', { attempt: 'attempt', reason: 'reason' })}
                  else ${fieldsOf('attempt_lost', { attempt: 'attempt', outcome: `'not_called'`, reason: 'reason' })}
             end as loss,
             case when e.status = 'queued' then ended_at end as scheduled_at
      from ended e join written w using (request_id)
      where e.status = 'queued' or not e."staysInRow"),
    -- Their events.
    events as (
      ${attemptsToEvents(
        'removed',
        eventOf('a.scheduled_at', 'retry_scheduled', {
          reason: 'a.reason',
          nextAttemptAt: isoText('a.next_attempt_at'),
        }),
      )})
    select request_id as "requestId", case when status = 'queued' then next_attempt_at end as "nextAttemptAt",
           ${appliedReceipts('written.request_id', 'confirms')} as receipts,
           ${theirEndpoints}
    from written`,
)

/** Ends lost claims. Claims that another worker has ended, or whose worker is alive after all, are missing from the result. */
export async function giveUpClaims(
  db: Database | Transaction,
  sweeper: Sweeper,
  claims: readonly GivenUp[],
): Promise<GivenUpRow[]> {
  const { worker, inFlight, sweepsUntil } = sweeper
  return await giveUpStatement(db, [JSON.stringify(claims), worker, inFlight, sweepsUntil])
}
