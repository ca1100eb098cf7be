import { deliveryOrder, receiptKinds } from '../src/core/receipt.ts'
import type { EventFields } from '../src/core/timeline-events.ts'
import { attemptsToEvents, endOf, eventOf, fieldsOf } from './event-sql.ts'
import { sqlText } from './statement.ts'

/*
 * The rule what receipts change (docs/reference/timeline.md#receipts), in parts. Several receipts of a send may come in one
 * statement, in this order: windows follow them one after the other.
 */

/** An event that a receipt made, and whether it changed the delivery state. */
export interface ReceiptEffect {
  event: 'delivered' | 'read' | 'undelivered' | 'receipt'
  isRaised: boolean
  fields: EventFields['receipt']
}

/** Limit of the receipts that are recorded of a send. A provider that repeats itself with small changes must not fill the table. */
export const maxReceipts = 50

const list = (kinds: readonly string[]) => `'{${kinds.join(',')}}'::text[]`

/** SQL of the kinds of receipts after which a send is sent: any of them, or those that show that the contact got the message. */
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

/**
 * SQL of what recognises a repeat of a receipt of a send `s`: its word, code and message id. Without an id, receipts of the message
 * that was sent before a replay must not hide those of the next one.
 */
export const receiptKey = (fields: string) => sqlText`
  left(md5(json_build_array(
    ${fields}->>'providerStatus', ${fields}->>'providerCode',
    coalesce(${fields}->>'providerMessageId', s.attempts_before_replay::text))::text), 12)`

/**
 * SQL of CTEs that decide what receipts change. The last two are `effects`, one row for each recorded receipt, and `changes`, one
 * for each of their sends.
 *
 * The relation before them is `heard`, one row for each receipt and its send: `request_id`, `ord` (the order of receipts), `at`,
 * `kind`, `fields`, `key`, `keys` (of the receipts recorded before), `is_pending` (it waits for an outcome), `sent_by` (the kinds
 * that make the send sent; null if none can be about it), `was_sent`, `rank`, `known_rank`, `known_id` (the recorded id of the
 * message).
 */
export const decidingReceipts = sqlText`
  -- Those that are no repeats, numbered for each send.
  fresh as materialized (
    select *, cardinality(keys) + row_number() over (partition by request_id order by ord) as number
    from (select *, row_number() over (partition by request_id, key order by ord) as occurrence
          from heard where sent_by is not null) h
    where occurrence = 1 and key <> all(keys)),
  -- Those to record, with whether the send is sent by then.
  followed as (
    select *, bool_or(was_sent or kind = any(sent_by)) over (partition by request_id order by ord) as is_sent
    from fresh where number <= ${maxReceipts} and not is_pending),
  -- With the rank that counts for the delivery state. A failure of another message than the recorded one doesn't count.
  ranked as (
    select *, case when is_sent and not coalesce(kind = 'undelivered' and fields->>'providerMessageId' <> known_id, false)
                   then rank end as counted
    from followed),
  -- What each one changes: it makes the send sent, or raises its delivery state.
  effects as materialized (
    select *, is_sent and not was_sent and not coalesce(lag(is_sent) over receipts, false) as settles,
           coalesce(counted > greatest(known_rank, max(counted) over (receipts rows between unbounded preceding
                                                                          and 1 preceding)), false) as raises
    from ranked
    window receipts as (partition by request_id order by ord)),
  -- What they change together.
  changes as materialized (
    select request_id, min(at) as at, bool_or(settles) as settles, array_agg(key order by ord) as keys,
           (array_agg(kind order by ord desc) filter (where raises))[1] as delivery,
           (array_agg(fields->>'providerMessageId' order by ord) filter (where is_sent))[1] as message_id
    from effects group by request_id)`

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
      (${eventOf('case when not r.raises then r.at end', 'receipt', 'r.fields')})
    ) as e (at, event, fields)
    where e.at is not null
    order by r.request_id, r.ord)`

/**
 * SQL of the assignments by a send's `changes` `c`, besides those of its status.
 *
 * @param s the send's row, locked.
 */
export const deliveryChanges = (s: string) => sqlText`
  delivery = coalesce(c.delivery, ${s}.delivery),
  delivery_at = case when c.delivery is not null then c.at else ${s}.delivery_at end,
  receipt_keys = case when c.keys is not null then coalesce(${s}.receipt_keys, '{}') || c.keys
                      else ${s}.receipt_keys end`

/** SQL of one of the effects `r`. */
export const effect = sqlText`
  json_build_object('event', case when r.raises then r.kind else 'receipt' end,
                    'isRaised', r.raises, 'fields', r.fields)`

/** SQL of a list of the effects on a send, for the log. */
export const effectsOn = (requestId: string) => sqlText`
  coalesce((
    select json_agg(${effect} order by r.ord)
    from effects r where r.request_id = ${requestId}), '[]')`

/** SQL of a CTE that moves the last attempts of `ended`, sends that had ended without being sent, to send_events. */
export const endsToEvents = (ended: string) => sqlText`
  ${attemptsToEvents(ended, endOf('a.ended_at'))}`

/** SQL of the fields of a lost attempt in the row of a send `s` that has ended. */
export const lostAttempt = fieldsOf('attempt_lost', { attempt: 's.attempt', reason: 's.failure' })
