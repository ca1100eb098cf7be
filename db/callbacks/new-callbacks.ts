import { isUnfinished } from '../lane-rule.ts'
import { sqlText } from '../statement.ts'

/*
 * How a statement that changes sends writes their callbacks: it counts the changes in the sends' rows, returns their
 * endpoints as `endpoint_ids` (null for none), and inserts the callbacks, all in one. As long as there is no endpoint at all, that is
 * one condition, read once a statement (docs/decisions/0049-callbacks.md).
 */

const anyEndpoint = '(select exists (select from endpoints))'

const takes = (type: string) => `(e.events is null or ${type} = any(e.events))`

/** SQL of the type of the change to a send's present state. */
export const typeByStatus = (s = 's') => `'message.' || ${s}.status`

/** What a statement changes of a send `s`, in SQL. */
interface Change {
  type: string
  /** Whether there is a change. Default: always. */
  isChange?: string
  /** The code of the outcome. */
  providerCode?: string
}

/** SQL of the columns of a written send that `insertCallbacks` needs. */
export const callbackColumns = ({ type, isChange, providerCode = 'null::text' }: Change, s = 's') => sqlText`
  ${s}.change_number, ${s}.attempt as attempts, ${s}.conversation_id,
  ${type} as type,
  case when ${anyEndpoint} then ${providerCode} end as provider_code,
  case when ${isChange === undefined ? '' : `${isChange} and `}${anyEndpoint} then
    (select array_agg(e.id) from endpoints e
     where e.account_id = ${s}.account_id
       and ${takes(type)}) end as endpoint_ids`

const columns = `endpoint_id, request_id, sequence, type, attempts, conversation_id, provider_at, provider_code, next_try_at`

/** SQL of when a callback of a send is due: with those before it that are tried again later (db/callbacks/record-tries.ts). */
const dueAt = (endpointId: string, requestId: string, sequence: string) => sqlText`
  greatest(clock_timestamp(), case when ${sequence} > 1 then
    (select max(earlier.next_try_at) from callbacks earlier
     where earlier.endpoint_id = ${endpointId} and earlier.request_id = ${requestId}
       and ${isUnfinished('earlier')}) end)`

/** SQL that inserts the callbacks of sends with one change each. @param written a relation with `request_id` and `callbackColumns`. */
export const insertCallbacks = (written: string) => sqlText`
  insert into callbacks (
    ${columns})
  select e.endpoint_id, w.request_id, w.change_number, w.type, w.attempts, w.conversation_id, null, w.provider_code,
         ${dueAt('e.endpoint_id', 'w.request_id', 'w.change_number')}
  from ${written} w cross join lateral unnest(w.endpoint_ids) e (endpoint_id)
  where ${anyEndpoint}`

/** SQL of the same columns for sends that receipts may have changed, several times at once. */
export const manyCallbackColumns = sqlText`
  s.change_number, s.attempt as attempts, s.conversation_id,
  case when ${anyEndpoint} then
    (select array_agg(e.id) from endpoints e where e.account_id = s.account_id) end as endpoint_ids`

/** SQL of how many changes receipts made of a send, by its `changes` `c` (db/receipt-rule.ts). */
export const changesByReceipts = 'coalesce(cardinality(c.new_states), 0)'

/** SQL of the changes that receipts made, by their `effects`. */
const madeByReceipts = sqlText`
  select r.request_id, r.ord, made.part, made.type, r.fields->>'providerAt' as provider_at,
         r.fields->>'providerCode' as provider_code
  from effects r cross join lateral (values
    (1, case when r.settles then 'message.sent' end),
    (2, case when r.raises then 'message.' || r.kind end)) made (part, type)
  where made.type is not null`

/** SQL of the changes by outcomes. @param ended a relation with `request_id`, `status` and `settles`. */
export const madeByOutcomes = (ended: string, providerCode = "o.record->>'providerCode'") => sqlText`
  select o.request_id, 0, 0, 'message.' || o.status, null, ${providerCode}
  from ${ended} o where o.status <> 'queued' and not o.settles`

/**
 * SQL that inserts the callbacks of sends of `written`, with `manyCallbackColumns`. Their numbers end with the one in the row.
 *
 * @param more SQL of further changes.
 */
export const insertManyCallbacks = (...more: string[]) => sqlText`
  insert into callbacks (
    ${columns})
  select e.id, m.request_id, m.sequence, m.type, m.attempts, m.conversation_id, m.provider_at, m.provider_code,
         ${dueAt('e.id', 'm.request_id', 'm.sequence')}
  from (
    select w.*, made.type, made.provider_at, made.provider_code,
           w.change_number - count(*) over (partition by w.request_id)
             + row_number() over (partition by w.request_id order by made.ord, made.part) as sequence
    from written w join (
      ${[madeByReceipts, ...more].join('\nunion all\n')}) made using (request_id)
    where w.endpoint_ids is not null and ${anyEndpoint}) m
  join endpoints e on e.id = any(m.endpoint_ids) and ${takes('m.type')}`

/** SQL of those of the endpoints that may be called now. The others are woken when they may. */
export const endpointsToWake = (endpointIds: string) => sqlText`
  case when ${endpointIds} is not null then
    (select array_agg(e.id) from endpoints e
     where e.id = any(${endpointIds}) and e.disabled_at is null
       and coalesce(e.breaker_open_until <= clock_timestamp(), true)) end as "endpointsToWake"`
