import { v7 as uuidv7 } from 'uuid'
import type { ReceiptKind } from '../../src/core/receipts/receipt.ts'
import type { WakeUp } from '../../src/core/sends/send-job.ts'
import type { EventFields } from '../../src/core/sends/timeline-events.ts'
import type { SuppressingSign } from '../../src/core/suppression/suppression.ts'
import { isOrWasOf, theOneOf } from '../accounts/posted-channel.ts'
import { announceReceipts, columnsOfChanges, endpointsToWake } from '../callbacks/new-callbacks.ts'
import { type Database, inTransaction, type Transaction } from '../connection/client.ts'
import { costColumns, countCosts, messageOfCost, setCosts } from '../counters/costs.ts'
import { countChanges, countedColumns } from '../counters/counted-as.ts'
import { attemptInRow } from '../delivery/attempt-in-row.ts'
import { nextInLane } from '../delivery/next-in-lane.ts'
import { attemptsToEvents, endOf } from '../sends/event-sql.ts'
import { isGiven, isOneOf, prepared, sqlText } from '../statement.ts'
import { suppressContacts } from '../suppression/by-sends.ts'
import { isErased, redactedFields } from '../upkeep/erase.ts'
import {
  anyReceipt,
  arrival,
  decidingReceipts,
  effect,
  maxReceipts,
  messageWithoutId,
  newKeys,
  noReceipt,
  type ReceiptEffect,
  rankOf,
  receiptEvents,
  receiptKey,
} from './receipt-rule.ts'

/** A receipt, as the statement takes it. */
export interface ReceiptRow {
  requestId: string
  /** The channels whose send it may be about. */
  channelIds: readonly string[]
  kind: ReceiptKind
  fields: EventFields['receipt']
  /** Its word on its contact, for which that is suppressed. */
  suppresses: SuppressingSign | null
}

/**
 * The result of a receipt. `applied`: it changed the send's status or delivery. `recorded`: it is only in the timeline. `early`: it is
 * kept until the outcome of the call is recorded. `unexpected`: the send was not attempted. `unknown`: there is no such send.
 */
export type ReceiptResult =
  | 'applied'
  | 'recorded'
  | 'duplicate'
  | 'early'
  | 'unknown'
  | 'unexpected'
  | 'over_cap'

export interface RecordedReceipt {
  /** Its place among the given ones, from 0. */
  ord: number
  result: ReceiptResult
  /** The one of the send's channels that it is about; null if there is no such send. */
  channelId: string | null
  /** Null if it isn't in the timeline, or not yet. */
  effect: ReceiptEffect | null
  /** Whether the send is sent since this receipt. */
  confirms: boolean
  /** The next send in its lane, which may go now that this one has ended. */
  nextInLane: WakeUp | null
  /** The endpoints that get callbacks for changes by any of the receipts, and may be called now; in the row of the first one found. */
  endpointsToWake: string[] | null
}

/**
 * Records receipts, of many requests at once. Sends are locked in the order of their ids, as outcomes do it; what the decision
 * needs is in their rows (docs/decisions/0045-receipts.md).
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
    -- Each with its send, locked in the order of ids. One look-up for each: the planner doesn't know how many there are.
    locked as materialized (
      select g.ord, g.kind, g.fields, s.*,
             ${theOneOf('g."channelIds"')} as its_channel_id,
             not (s.channel_id = any(g."channelIds")) as is_former
      from (select * from given order by "requestId") g cross join lateral (
        select * from sends s
        where s.request_id = g."requestId" and ${isOrWasOf('g."channelIds"')}
        for no key update) s),
    -- The time when all of them are locked, so that no event comes before one of the statement that was waited for.
    moment as materialized (
      select clock_timestamp() as at from (select count(*) from locked) counted),
    -- The columns for the decision. A channel that had the send before can only report that its contact has got it, and
    -- that counts only while the send waits for an attempt on another one. Redacted fields of an erased send are recorded;
    -- keys are of the given ones, as before.
    received as materialized (
      select s.ord, s.kind, known.fields, s.request_id, s.channel_id, s.former_channels,
             s.its_channel_id, s.is_former, moment.at,
             s.status, s.attempt, s.worker, s.claimed_at, s.claim_id, s.finished_at, s.attempt_record, s.failure,
             s.counted_as, s.delivery, s.delivery_at, s.provider_message_id as known_id,
             s.costs, s.segments, s.message_type,
             ${messageOfCost("s.fields->>'providerMessageId'", 'case when not s.is_former then s.provider_message_id end', messageWithoutId)} as cost_message,
             ${receiptKey('s.fields')} as key,
             coalesce(s.receipt_keys, '{}')
               || array(select p->>'key' from jsonb_array_elements(s.pending_receipts) p) as known_keys,
             s.status = 'sending' and not s.is_former as is_pending,
             s.status = 'sent' and not s.is_former as was_sent,
             -- Only an arrival ends the wait of a send for a call after a replay or a fallback.
             case when s.status = 'queued' and s.attempt > 0
                       and (s.is_former or s.attempt <= s.attempts_before_replay) then ${arrival}
                  when s.is_former then ${noReceipt}
                  when s.status in ('sending', 'sent', 'uncertain')
                       or s.status = 'queued' and s.attempt > 0 then ${anyReceipt}
                  when s.status = 'failed' then ${arrival}
                  when s.status <> 'queued' then ${noReceipt} end as sent_by,
             ${rankOf('s.kind')} as rank,
             ${rankOf('s.delivery')} as known_rank
      from locked s
        cross join moment
        cross join lateral (
          select case when ${isErased} then
            ${redactedFields('s.fields')}
          else s.fields end as fields) known),
    ${decidingReceipts},
    ${receiptEvents},
    -- Receipts of sends whose outcome isn't recorded yet.
    kept as (
      update sends s set pending_receipts = coalesce(s.pending_receipts, '[]') || early.receipts
      from (select request_id,
                   jsonb_agg(jsonb_build_object('kind', kind, 'fields', fields, 'key', key) order by ord) as receipts
            from effects where is_pending and is_new and number <= ${maxReceipts} group by request_id) early
      where s.request_id = early.request_id and ${isOneOf('s.request_id', 'given')}),
    -- The last attempts of sends that had ended otherwise. The row of a send that is sent by a receipt holds no attempt.
    ended as (
      select s.request_id,
             ${attemptInRow}
      from changes s
      where s.confirmed and s.status in ('uncertain', 'failed')),
    -- Their events.
    ends as (
      ${attemptsToEvents('ended', endOf('a.ended_at'))}),
    -- Their next states, numbered. All from the locked rows: PostgreSQL checks constraints first with the row as it was
    -- when the statement began. A send that its contact has from a former channel is that channel's again.
    written as (
      update sends s set
        status = case when changes.confirmed then 'sent' else changes.status end,
        finished_at = case when changes.confirmed then changes.at else changes.finished_at end,
        failure = case when not changes.confirmed then changes.failure end,
        claimed_at = case when not changes.confirmed then changes.claimed_at end,
        claim_id = case when not changes.confirmed then changes.claim_id end,
        attempt_record = case when not changes.confirmed then changes.attempt_record end,
        provider_message_id = case when changes.confirmed then coalesce(changes.known_id, changes.new_id)
                                   else changes.known_id end,
        delivery = coalesce(changes.new_state, changes.delivery),
        delivery_at = case when changes.new_state is not null then changes.at else changes.delivery_at end,
        channel_id = case when changes.confirmed then changes.its_channel_id else changes.channel_id end,
        former_channels = case when changes.confirmed and changes.is_former
                               then changes.former_channels || changes.channel_id
                               else changes.former_channels end,
        receipt_keys = ${newKeys},
        ${setCosts('changes', 'changes')},
        change_number = s.change_number + case when changes.confirmed then 1 else 0 end
          + coalesce(cardinality(changes.new_states), 0) + coalesce(changes.complaints, 0)::int,
        counted_as = case when s.counted_as is not null and (changes.confirmed or changes.new_state is not null) then
            counted_as(
              case when changes.confirmed then 'sent' else changes.status end,
              coalesce(changes.new_state, changes.delivery), case when not changes.confirmed then changes.failure end,
              case when not changes.confirmed then changes.attempt_record end, changes.new_code)
          else s.counted_as end
      from changes
      where s.request_id = changes.request_id and ${isOneOf('s.request_id', 'given')}
      returning
        s.request_id, s.status, s.lane, s.seq,
        changes.confirmed and changes.status = 'queued' as ends_now,
        changes.confirmed or changes.new_state is not null or changes.complaints > 0 as is_changed,
        ${countedColumns('changes.counted_as')},
        ${costColumns('changes')},
        ${columnsOfChanges}),
    ${announceReceipts},
    ${countChanges},
    ${countCosts},
    -- The endpoints that get callbacks. Gathered once: to find the send of each receipt here would compare each with all.
    endpoints_of_all as (
      select array_agg(distinct endpoint_id) as endpoint_ids
      from written w cross join lateral unnest(w.endpoint_ids) as of_send (endpoint_id)
      where w.is_changed),
    -- The next sends in the lanes of those that ended only now.
    next as (
      select w.request_id,
             ${nextInLane('w')}
      from written w
      where w.ends_now)
    select r.ord, r.its_channel_id as "channelId",
           case when r.sent_by is null then 'unexpected'
                when not r.is_new then 'duplicate'
                when r.number > ${maxReceipts} then 'over_cap'
                when r.is_pending then 'early'
                when r.confirms or r.raises then 'applied'
                else 'recorded' end as result,
           case when r.is_recorded then
             ${effect} end as effect,
           r.confirms,
           case when r.confirms and r.status = 'queued' then
             (select n."nextInLane" from next n where n.request_id = r.request_id) end as "nextInLane",
           case when r.ord = (select min(ord) from effects) then
             (select ${endpointsToWake('endpoint_ids')}
              from endpoints_of_all) end as "endpointsToWake"
    from effects r
    order by r.ord`,
)

const scheduledStatement = prepared<{ requestId: string; channelId: string }>(
  'receiving_scheduled',
  'Finds scheduled sends that receipts are about.',
  sqlText`
    select request_id as "requestId", channel_id as "channelId"
    from scheduled_sends where ${isGiven('request_id')}`,
)

const notFound: Omit<RecordedReceipt, 'ord' | 'result'> = {
  channelId: null,
  effect: null,
  confirms: false,
  nextInLane: null,
  endpointsToWake: null,
}

/** Records receipts, all or none of them, with the suppressions that follow from them. A repeat of a receipt suppresses nobody again. */
export async function recordReceipts(
  db: Database | Transaction,
  receipts: readonly ReceiptRow[],
): Promise<RecordedReceipt[]> {
  const parts = inParts(receipts)
  if (parts.length < 2 && receipts.every(({ suppresses }) => !suppresses))
    return await recordOnly(db, receipts)
  return await inTransaction(db, async (transaction) => {
    const recorded = await recordParts(transaction, receipts, parts)
    await suppress(transaction, receipts, recorded)
    return recorded
  })
}

async function suppress(
  transaction: Transaction,
  receipts: readonly ReceiptRow[],
  recorded: readonly RecordedReceipt[],
): Promise<void> {
  const suppressing = receipts.flatMap(({ suppresses: sign, ...receipt }, ord) => {
    if (!sign || !isNew(recorded[ord]?.result)) return []
    const { requestId, channelIds, fields } = receipt
    return { id: uuidv7(), requestId, channelIds, sign, reason: fields.reason ?? null }
  })
  if (suppressing.length > 0) await suppressContacts(transaction, suppressing)
}

/**
 * The places of receipts, in parts that are recorded one after the other: within a part, all receipts of a send name the same
 * channels.
 */
function inParts(receipts: readonly ReceiptRow[]): number[][] {
  const parts: number[][] = []
  const seen = new Map<string, { channels: string; part: number }>()
  for (const [ord, { requestId, channelIds }] of receipts.entries()) {
    const channels = channelIds.join()
    const last = seen.get(requestId)
    const part = last ? last.part + (last.channels === channels ? 0 : 1) : 0
    seen.set(requestId, { channels, part })
    parts[part] ??= []
    parts[part].push(ord)
  }
  return parts
}

async function recordParts(
  transaction: Transaction,
  receipts: readonly ReceiptRow[],
  parts: readonly number[][],
): Promise<RecordedReceipt[]> {
  if (parts.length < 2) return await recordOnly(transaction, receipts)
  const recorded: RecordedReceipt[] = []
  for (const ords of parts) {
    const ofPart = ords.flatMap((ord) => receipts[ord] ?? [])
    for (const [index, row] of (await recordOnly(transaction, ofPart)).entries()) {
      const ord = ords[index] ?? 0
      recorded[ord] = { ...row, ord }
    }
  }
  return recorded
}

export const isNew = (result: ReceiptResult | undefined): boolean =>
  result === 'applied' || result === 'recorded' || result === 'early' || result === 'over_cap'

async function recordOnly(
  db: Database | Transaction,
  receipts: readonly ReceiptRow[],
): Promise<RecordedReceipt[]> {
  const rows = await recordStatement(db, [JSON.stringify(receipts.map((row, ord) => ({ ord, ...row })))])
  const found = new Map(rows.map((row) => [row.ord, row]))
  const isScheduled =
    found.size === receipts.length
      ? () => false
      : await scheduledAmong(
          db,
          receipts.filter((_receipt, ord) => !found.has(ord)),
        )
  return receipts.map((receipt, ord) => {
    const result = isScheduled(receipt) ? 'unexpected' : 'unknown'
    return found.get(ord) ?? { ord, ...notFound, result }
  })
}

/** Whether a receipt is about a scheduled send, which no provider can know. */
async function scheduledAmong(
  db: Database | Transaction,
  receipts: readonly ReceiptRow[],
): Promise<(receipt: ReceiptRow) => boolean> {
  const ids = receipts.map(({ requestId }) => requestId)
  const channelOf = new Map(
    (await scheduledStatement(db, [ids])).map(({ requestId, channelId }) => [requestId, channelId]),
  )
  return ({ requestId, channelIds }) => channelIds.includes(channelOf.get(requestId) ?? '')
}

/** A channel that may get receipts by HTTP. */
export interface ReceivingChannel {
  channelId: string
  accountId: string
  provider: string
  sealedConfig: string
  hasFallback: boolean
}

const channelsStatement = prepared<ReceivingChannel>(
  'receiving_channels',
  'Finds the channels that receipts are addressed to.',
  sqlText`
    select id as "channelId", account_id as "accountId", provider, sealed_config as "sealedConfig",
           fallback_channel_id is not null as "hasFallback"
    from channels where ${isGiven('id')} and deleted_at is null`,
)

/** Deleted channels look absent: their configs, and so their secrets, are gone. */
export function findReceivingChannels(
  db: Database,
  channelIds: readonly string[],
): Promise<ReceivingChannel[]> {
  return channelsStatement(db, [channelIds])
}

/** Where a send belongs. */
export interface ChannelOfSend {
  requestId: string
  accountId: string
  /** The one that has it now, then those that had it before. */
  channelIds: string[]
}

const channelsOfSendsStatement = prepared<ChannelOfSend>(
  'channels_of_sends',
  'Finds the channels of the sends that receipts are about.',
  sqlText`
    select request_id as "requestId", account_id as "accountId", channel_id || former_channels as "channelIds"
    from sends where ${isGiven('request_id')}`,
)

export function findChannelsOfSends(db: Database, requestIds: readonly string[]): Promise<ChannelOfSend[]> {
  return channelsOfSendsStatement(db, [requestIds])
}
