import type { ProviderName } from '../src/core/providers/index.ts'
import type { ReceiptKind } from '../src/core/receipt.ts'
import type { WakeUp } from '../src/core/send-job.ts'
import type { EventFields } from '../src/core/timeline-events.ts'
import type { Database } from './client.ts'
import { claimIsLost } from './delivery/lost-claims.ts'
import { nextInLane } from './delivery/outcomes.ts'
import {
  anyReceipt,
  arrival,
  decidingReceipts,
  deliveryChanges,
  effect,
  endsToEvents,
  lostAttempt,
  maxReceipts,
  noReceipt,
  type ReceiptEffect,
  rankOf,
  receiptEvents,
  receiptKey,
} from './receipt-rule.ts'
import { isGiven, isOneOf, prepared, sqlText } from './statement.ts'
import { isErased, redactedFields } from './support/erase.ts'

/** A receipt, as the statement takes it. */
export interface ReceiptRow {
  requestId: string
  /** The channels whose send it may be about. */
  channelIds: readonly string[]
  kind: ReceiptKind
  fields: EventFields['receipt']
}

/**
 * What became of a receipt. `applied`: it changed the send's status or delivery. `told`: it is only in the timeline. `early`: it is
 * kept until the outcome of the call is recorded. `unexpected`: the send was not attempted. `unknown`: there is no such send.
 */
export type ReceiptResult = 'applied' | 'told' | 'duplicate' | 'early' | 'unknown' | 'unexpected' | 'over_cap'

export interface RecordedReceipt {
  /** Its place among the given ones, from 0. */
  ord: number
  result: ReceiptResult
  /** The send's; null if there is no such send. */
  channelId: string | null
  /** Null if it isn't in the timeline, or not yet. */
  effect: ReceiptEffect | null
  /** Whether the send is sent since this receipt. */
  settles: boolean
  /** The next send in its lane, which may go now that this one has ended. */
  nextInLane: WakeUp | null
}

/**
 * Records receipts, of many requests at once. Sends are locked in the order of their ids, as outcomes do it; what the decision
 * needs is in their rows (docs/decisions/0044-receipts.md).
 */
const recordStatement = prepared<RecordedReceipt>(
  'record_receipts',
  'Records what providers report about sends, once, and changes the sends accordingly.',
  sqlText`
    with
    -- The given receipts.
    given as materialized (
      select * from json_to_recordset($1) as
        (ord int, "requestId" uuid, "channelIds" uuid[], kind text, fields json)),
    -- Their sends, locked in the order of ids.
    locked as materialized (
      select * from sends s
      where ${isOneOf('s.request_id', 'given')}
        and exists (select from given g where g."requestId" = s.request_id and s.channel_id = any(g."channelIds"))
      order by s.request_id
      for no key update of s),
    -- The time when all of them are locked, so that no event comes before one of the statement that was waited for.
    moment as materialized (
      select clock_timestamp() as at from (select count(*) from locked) counted),
    -- Each receipt with its send. For an erased send, only redacted fields are recorded.
    heard as materialized (
      select g.ord, g.kind, known.fields, s.request_id, s.channel_id, moment.at,
             ${receiptKey('known.fields')} as key,
             coalesce(s.receipt_keys, '{}')
               || array(select p->>'key' from jsonb_array_elements(s.pending_receipts) p) as keys,
             s.status = 'sending' as is_pending, s.status = 'sent' as was_sent,
             case when s.status in ('sending', 'sent', 'uncertain')
                       or s.status = 'queued' and s.attempt > s.attempts_before_replay
                  then ${anyReceipt}
                  when s.status = 'failed' then ${arrival}
                  when s.status = 'queued' and s.attempt > 0 then ${arrival}
                  when s.status <> 'queued' then ${noReceipt} end as sent_by,
             ${rankOf('g.kind')} as rank,
             ${rankOf('s.delivery')} as known_rank,
             s.provider_message_id as known_id
      from given g join locked s on s.request_id = g."requestId" and s.channel_id = any(g."channelIds")
        cross join moment
        cross join lateral (
          select case when ${isErased} then
            ${redactedFields('g.fields')}
          else g.fields end as fields) known),
    ${decidingReceipts},
    ${receiptEvents},
    -- Those of sends whose outcome isn't recorded yet.
    kept as (
      update sends s set pending_receipts = coalesce(s.pending_receipts, '[]') || early.receipts
      from (select request_id,
                   jsonb_agg(jsonb_build_object('kind', kind, 'fields', fields, 'key', key) order by ord) as receipts
            from fresh where is_pending and number <= ${maxReceipts} group by request_id) early
      where s.request_id = early.request_id),
    -- The last attempts of sends that had ended otherwise. The row of a send that is sent by a receipt holds no attempt.
    ended as (
      select s.*, s.finished_at as ended_at, s.attempt_record as record,
             case when ${claimIsLost}
                  then ${lostAttempt} end as loss
      from locked s join changes c using (request_id)
      where c.settles and s.status in ('uncertain', 'failed')),
    -- Their events.
    ends as (
      ${endsToEvents('ended')}),
    -- The sends' next states, all from the locked rows: PostgreSQL checks constraints first with the row as it was when
    -- the statement began.
    written as (
      update sends s
      set status = case when c.settles then 'sent' else l.status end,
          finished_at = case when c.settles then c.at else l.finished_at end,
          failure = case when c.settles then null else l.failure end,
          claimed_at = case when c.settles then null else l.claimed_at end,
          claim_id = case when c.settles then null else l.claim_id end,
          attempt_record = case when c.settles then null else l.attempt_record end,
          provider_message_id = case when c.settles then coalesce(l.provider_message_id, c.message_id)
                                     else l.provider_message_id end,
          ${deliveryChanges('l')}
      from changes c join locked l using (request_id)
      where s.request_id = c.request_id
      returning s.request_id, s.status, s.lane, s.seq, c.settles),
    -- The next sends in the lanes of those that ended only now.
    next as (
      select w.request_id,
             ${nextInLane('w')}
      from written w join locked l using (request_id)
      where w.settles and l.status = 'queued')
    select g.ord,
           case when h.ord is null then 'unknown'
                when h.sent_by is null then 'unexpected'
                when f.ord is null then 'duplicate'
                when f.number > ${maxReceipts} then 'over_cap'
                when h.is_pending then 'early'
                when r.settles or r.raises then 'applied'
                else 'told' end as result,
           case when r.ord is not null then
             ${effect} end as effect,
           coalesce(r.settles, false) as settles, h.channel_id as "channelId", n."nextInLane"
    from given g
      left join heard h using (ord)
      left join fresh f using (ord)
      left join effects r using (ord)
      left join next n on r.settles and n.request_id = r.request_id
    order by g.ord`,
)

/** Records receipts, all or none of them. */
export function recordReceipts(db: Database, receipts: readonly ReceiptRow[]): Promise<RecordedReceipt[]> {
  return recordStatement(db, [JSON.stringify(receipts.map((row, ord) => ({ ord, ...row })))])
}

/** A channel that may get receipts by HTTP. */
export interface ReceivingChannel {
  channelId: string
  accountId: string
  provider: ProviderName
  sealedConfig: string
}

const columns = 'id as "channelId", account_id as "accountId", provider, sealed_config as "sealedConfig"'

const channelsStatement = prepared<ReceivingChannel>(
  'receiving_channels',
  'Finds the channels that receipts are addressed to.',
  sqlText`
    select ${columns}
    from channels where ${isGiven('id')} and deleted_at is null`,
)

/** Deleted channels look absent: their configs, and so their secrets, are gone. */
export function findReceivingChannels(
  db: Database,
  channelIds: readonly string[],
): Promise<ReceivingChannel[]> {
  return channelsStatement(db, [channelIds])
}

const siblingsStatement = prepared<ReceivingChannel>(
  'receiving_siblings',
  'Lists the other channels of an account and provider, whose receipts may come to the same address.',
  sqlText`
    -- $1: the account; $2: the provider; $3: the channel that was addressed.
    select ${columns} from channels
    where account_id = $1 and provider = $2 and id <> $3 and deleted_at is null`,
)

export function findSiblings(
  db: Database,
  { accountId, provider, channelId }: ReceivingChannel,
): Promise<ReceivingChannel[]> {
  return siblingsStatement(db, [accountId, provider, channelId])
}
