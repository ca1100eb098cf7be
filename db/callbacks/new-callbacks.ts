import { isUnfinished } from '../delivery/lane-rule.ts'
import { isComplaint } from '../receipts/receipt-rule.ts'
import { sqlText } from '../statement.ts'

/** How a statement counts the changes that it makes of sends `s`, and announces them (docs/decisions/0049-callbacks.md). */
export interface Changes {
  /** SQL of how many it makes of a send. */
  count: string
  /** SQL of the columns of a written send that its callbacks need. */
  columns: string
  /** SQL that inserts the callbacks about the sends of `written`. */
  insertCallbacks: string
}

/** As long as there is no endpoint at all, callbacks cost this condition, read once a statement. */
const anyEndpoint = '(select exists (select from endpoints))'

const takes = (type: string) => `(e.events is null or ${type} = any(e.events))`

const isEnd = (status: string) => `${status} <> 'queued'`

const typeByStatus = `'message.' || s.status`

/** SQL of the columns of a written send with one change. Its endpoints are null if there are none. */
const columnsOfOne = (type: string, providerCode: string, isChange = '') => sqlText`
  s.change_number, s.attempt as attempts, s.conversation_id,
  ${type} as type,
  case when ${anyEndpoint} then ${providerCode} end as provider_code,
  case when ${isChange && `${isChange} and `}${anyEndpoint} then
    (select array_agg(e.id) from endpoints e
     where e.account_id = s.account_id
       and ${takes(type)}) end as endpoint_ids`

const columns = sqlText`
  endpoint_id, request_id, sequence, type, attempts, conversation_id, provider_at, provider_code, status, delivery,
next_try_at`

/** SQL of when a callback of a send is due: with those before it that are tried again later (db/callbacks/record-tries.ts). */
const dueAt = (endpointId: string, requestId: string, sequence: string) => sqlText`
  greatest(clock_timestamp(), case when ${sequence} > 1 then
    (select max(earlier.next_try_at) from callbacks earlier
     where earlier.endpoint_id = ${endpointId} and earlier.request_id = ${requestId}
       and ${isUnfinished('earlier')}) end)`

const insertOne = sqlText`
  insert into callbacks (
    ${columns})
  select e.endpoint_id, w.request_id, w.change_number, w.type, w.attempts, w.conversation_id, null, w.provider_code,
         null, null,
         ${dueAt('e.endpoint_id', 'w.request_id', 'w.change_number')}
  from written w cross join lateral unnest(w.endpoint_ids) e (endpoint_id)
  where ${anyEndpoint}`

/** One change of each send: to its new status, or one of another type. @param providerCode SQL of the code of the outcome. */
export const oneChange = (type = typeByStatus, providerCode = 'null::text'): Changes => ({
  count: '1',
  columns: columnsOfOne(type, providerCode),
  insertCallbacks: insertOne,
})

/** One change of each send of `ended` `e` but those that are queued again. */
export const endOnly = (providerCode: string): Changes => ({
  count: `case when ${isEnd('e.status')} then 1 else 0 end`,
  columns: columnsOfOne(typeByStatus, providerCode, isEnd('s.status')),
  insertCallbacks: insertOne,
})

/** SQL of the columns of a written send that may have changed several times at once. */
const columnsOfMany = sqlText`
  s.delivery, s.change_number, s.attempt as attempts, s.conversation_id,
  case when ${anyEndpoint} then
    (select array_agg(e.id) from endpoints e where e.account_id = s.account_id) end as endpoint_ids`

/** SQL of the changes that receipts made, by their `effects`. */
const madeByReceipts = sqlText`
  select r.request_id, r.ord, made.part, made.type, r.fields->>'providerAt' as provider_at,
         r.fields->>'providerCode' as provider_code
  from effects r cross join lateral (values
    (1, case when r.confirms then 'message.sent' end),
    (2, case when r.raises or r.is_recorded and ${isComplaint}
             then 'message.' || r.kind end)) made (part, type)
  where made.type is not null`

/** Their numbers end with the one in the row. */
const insertMany = (...made: string[]) => sqlText`
  insert into callbacks (
    ${columns})
  select e.id, m.request_id, m.sequence, m.type, m.attempts, m.conversation_id, m.provider_at, m.provider_code,
         case when m.type = 'message.complained' then m.status end,
         case when m.type = 'message.complained' then m.delivery end,
         ${dueAt('e.id', 'm.request_id', 'm.sequence')}
  from (
    select w.*, made.type, made.provider_at, made.provider_code,
           w.change_number - count(*) over (partition by w.request_id)
             + row_number() over (partition by w.request_id order by made.ord, made.part) as sequence
    from written w join (
      ${made.join('\nunion all\n')}) made using (request_id)
    where w.endpoint_ids is not null and ${anyEndpoint}) m
  join endpoints e on e.id = any(m.endpoint_ids) and ${takes('m.type')}`

const receiptCount = (own: string) => sqlText`
  case when ${own} then 1 else 0 end
    + coalesce(cardinality(c.new_states), 0) + coalesce(c.complaints, 0)::int`

/** What receipts changed, by the sends' `changes` `c` (db/receipts/receipt-rule.ts). */
export const receiptChanges: Changes = {
  count: receiptCount('c.confirmed'),
  columns: columnsOfMany,
  insertCallbacks: insertMany(madeByReceipts),
}

/** The ends of sends of `ended` `e`, which receipts may have confirmed, and what else receipts changed. */
export const endAndReceiptChanges = (providerCode: string): Changes => ({
  count: receiptCount(isEnd('e.status')),
  columns: columnsOfMany,
  insertCallbacks: insertMany(
    madeByReceipts,
    sqlText`
      select e.request_id, 0, 0, 'message.' || e.status, null, ${providerCode}
      from ended e where ${isEnd('e.status')} and not e.confirms`,
  ),
})

/** SQL of those of the endpoints that may be called now. The others are woken when they may. */
export const endpointsToWake = (endpointIds: string) => sqlText`
  case when ${endpointIds} is not null then
    (select array_agg(e.id) from endpoints e
     where e.id = any(${endpointIds}) and e.disabled_at is null
       and coalesce(e.breaker_open_until <= clock_timestamp(), true)) end as "endpointsToWake"`
