import { deliveryOrder, receiptKinds } from '../../src/core/receipts/receipt.ts'
import type { EventFields } from '../../src/core/sends/timeline-events.ts'
import { costsOfReceipts } from '../counters/costs.ts'
import { eventOf } from '../sends/event-sql.ts'
import { sqlText } from '../statement.ts'

/*
 * The rule what receipts change (docs/reference/receipts.md#what-a-receipt-changes), in parts. Several receipts of a send may come in one
 * statement, in this order: windows follow them one after the other.
 */

/** An event that a receipt made, and whether it changed the delivery state. */
export interface ReceiptEffect {
  event: 'delivered' | 'read' | 'undelivered' | 'complained' | 'receipt'
  isRaised: boolean
  fields: EventFields['receipt']
}

/** Limit of the receipts that are recorded of a send. A provider that repeats itself with small changes must not fill the table. */
export const maxReceipts = 50

const list = (kinds: readonly string[]) => `'{${kinds.join(',')}}'::text[]`

/** SQL of the kinds of receipts after which a send is sent: any that says something of the message, or those that show that the contact got the message. */
export const anyReceipt = list(receiptKinds)
export const arrival = list(['delivered', 'read'])
export const noReceipt = list([])

/** SQL of the rank of a delivery state of a send `s`; 0 for none. */
export const rankOf = (state: string) => {
  const ranks = Object.entries(deliveryOrder).map(
    ([type, states]) => `when '${type}' then array_position(${list(states)}, ${state})`,
  )
  return sqlText`
    coalesce(case s.contact_type
      ${ranks.join('\n')} end, 0)`
}

/** SQL of what stands for the id of the message of a send `s`, where its receipts have none: those before a replay, or by a former channel, are of another message. */
export const messageWithoutId = sqlText`
  case when not s.is_former then s.attempts_before_replay::text
       when s.its_channel_id = s.former_channels[1] then '0'
       else s.its_channel_id::text end`

/**
 * SQL of what recognises a repeat of a receipt of a send `s`: its word, code, message and cost, if it has one: a provider may say it
 * later than the word.
 */
export const receiptKey = (fields: string) => sqlText`
  left(md5(json_build_array(
    ${fields}->>'providerStatus', ${fields}->>'providerCode',
    coalesce(${fields}->>'providerMessageId',
             ${messageWithoutId}))::text || coalesce(${fields}->>'cost', '')), 12)`

/**
 * SQL of CTEs that decide what receipts change. The last two are `effects`, with what becomes of each receipt, and `changes`, with
 * what they change together, one row for each send. Without joins: the planner doesn't know how many there are.
 *
 * The relation before them is `received`, one row for each receipt and its send. Both have all its columns:
 *
 * - `request_id`, `ord` (the order of receipts), `at`, `kind`, `fields`, `rank`;
 * - `key`, and `known_keys` (of the receipts recorded before);
 * - `cost_message`: the message that its price is of (db/counters/costs.ts);
 * - `is_pending`: it waits for an outcome;
 * - `sent_by`: the kinds that make the send sent; null if none can be about it;
 * - `was_sent`, `known_rank` and `known_id` (the recorded id of the message): what was known of the send before.
 */
export const decidingReceipts = sqlText`
  -- Whether each is new: no repeat of one that is recorded, nor of one before it.
  compared as (
    select *, sent_by is not null and key <> all(known_keys)
                and row_number() over (partition by request_id, key order by ord) = 1 as is_new
    from received),
  -- Its number among the send's receipts.
  counted as (
    select *, cardinality(known_keys)
                + count(*) filter (where is_new) over (partition by request_id order by ord) as number
    from compared),
  -- Whether it is recorded now.
  chosen as (
    select *, is_new and not is_pending and number <= ${maxReceipts} as is_recorded
    from counted),
  -- Whether the send is sent by then.
  followed as (
    select *, is_recorded
                and bool_or(is_recorded and (was_sent or kind = any(sent_by)))
                      over (partition by request_id order by ord) as is_sent
    from chosen),
  -- Adds the rank that counts for the delivery state. A failure of another message than the recorded one doesn't count.
  ranked as (
    select *, case when is_sent and not coalesce(kind = 'undelivered' and fields->>'providerMessageId' <> known_id, false)
                   then rank end as counted_rank
    from followed),
  -- The change by each one: it makes the send sent, or raises its delivery state.
  judged as (
    select *, is_sent and not was_sent and not coalesce(bool_or(is_sent) over before, false) as confirms,
           coalesce(counted_rank > greatest(known_rank, max(counted_rank) over before), false) as raises
    from ranked
    window before as (partition by request_id order by ord rows between unbounded preceding and 1 preceding)),
  -- Adds what all of a send's receipts change together.
  effects as materialized (
    select *, bool_or(confirms) over every as confirmed,
           array_agg(key) filter (where is_recorded) over every as new_keys,
           array_agg(kind) filter (where raises) over every as new_states,
           array_agg(fields->>'providerCode') filter (where raises) over every as new_codes,
           array_agg(fields->>'providerMessageId') filter (where is_sent) over every as new_ids,
           count(*) filter (where is_recorded and kind = 'complained') over every as complaints,
           ${costsOfReceipts},
           lead(ord) over (partition by request_id order by ord) is null as is_last
    from judged
    window every as (partition by request_id order by ord rows between unbounded preceding and unbounded following)),
  -- Changes, once for each send.
  changes as materialized (
    select *, new_states[cardinality(new_states)] as new_state, new_codes[cardinality(new_codes)] as new_code,
           new_ids[1] as new_id, all_parts[cardinality(all_parts)] as new_parts
    from effects where is_last and new_keys is not null)`

/** SQL that is true for a complaint among the effects `r`. */
export const isComplaint = `(r.kind = 'complained')`

/** SQL of a CTE that records the events of `effects`. */
export const receiptEvents = sqlText`
  -- Their events. One that doesn't raise the delivery state is recorded as another receipt.
  receipt_events as (
    insert into send_events (request_id, at, event, fields)
    select r.request_id, e.at, e.event, r.fields
    from effects r cross join lateral (values
      (${eventOf("case when r.raises and r.kind = 'delivered' then r.at end", 'delivered', 'r.fields')}),
      (${eventOf("case when r.raises and r.kind = 'read' then r.at end", 'read', 'r.fields')}),
      (${eventOf("case when r.raises and r.kind = 'undelivered' then r.at end", 'undelivered', 'r.fields')}),
      (${eventOf(`case when ${isComplaint} then r.at end`, 'complained', 'r.fields')}),
      (${eventOf(`case when not r.raises and not ${isComplaint} then r.at end`, 'receipt', 'r.fields')})
    ) as e (at, event, fields)
    where r.is_recorded and e.at is not null
    order by r.request_id, r.ord)`

/** SQL of the keys of the recorded receipts of a send `s`, by its `changes`. */
export const newKeys = `coalesce(s.receipt_keys, '{}') || coalesce(changes.new_keys, '{}')`

/** SQL of one of the effects `r`. */
export const effect = sqlText`
  json_build_object('event', case when r.raises or ${isComplaint}
                                  then r.kind else 'receipt' end,
                    'isRaised', r.raises, 'fields', r.fields)`

/** SQL of a list of the effects on a send, for the log. */
export const effectsOn = (requestId: string) => sqlText`
  coalesce((
    select json_agg(${effect} order by r.ord)
    from effects r where r.is_recorded and r.request_id = ${requestId}), '[]')`
