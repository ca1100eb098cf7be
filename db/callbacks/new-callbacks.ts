import { isUnfinished } from '../delivery/lane-rule.ts'
import { isComplaint } from '../receipts/receipt-rule.ts'
import { sqlText } from '../statement.ts'

/*
 * A statement that changes the state of sends numbers the changes in `change_number`, and inserts the callbacks about them
 * (docs/decisions/0049-callbacks.md). Its relation `written` returns the columns that they need of each send `s`.
 */

/** As long as there is no endpoint at all, callbacks cost this condition, read once a statement. */
const anyEndpoint = '(select exists (select from endpoints))'

const takes = (type: string) => `(e.events is null or ${type} = any(e.events))`

const typeByStatus = `'message.' || s.status`

/**
 * SQL of the columns that the callback about one change of a written send needs. The endpoints are null if there are none.
 *
 * @param change its type, by default the new status; SQL of the code of the outcome; SQL of whether there is a change at all.
 */
export const columnsOfChange = ({
  type = typeByStatus,
  providerCode = 'null::text',
  isChange,
}: {
  type?: string
  providerCode?: string
  isChange?: string
} = {}) => sqlText`
  s.change_number, s.attempt as attempts, s.conversation_id,
  ${type} as type,
  case when ${anyEndpoint} then ${providerCode} end as provider_code,
  case when ${isChange === undefined ? '' : `${isChange} and `}${anyEndpoint} then
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

const announce = (status: string, delivery: string) => sqlText`
  -- The callbacks.
  announced as (
    insert into callbacks (
      ${columns})
    select e.endpoint_id, w.request_id, w.change_number, w.type, w.attempts, w.conversation_id, null, w.provider_code,
           ${status}, ${delivery},
           ${dueAt('e.endpoint_id', 'w.request_id', 'w.change_number')}
    from written w cross join lateral unnest(w.endpoint_ids) e (endpoint_id)
    where ${anyEndpoint})`

/** SQL of the CTE `announced`, for sends of `written` with `columnsOfChange`. */
export const announceChange = announce('null', 'null')

/** The same, for a change that leaves status and delivery as they are in `written`. */
export const announceBeside = announce('w.status', 'w.delivery')

/** SQL of the columns that the callbacks about several changes of a written send at once need. */
export const columnsOfChanges = sqlText`
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

/** SQL of the CTE `announced`, for sends of `written` with `columnsOfChanges`. The numbers of the changes end with the one in the row. */
const announceMade = (...made: string[]) => sqlText`
  -- The callbacks.
  announced as (
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
    join endpoints e on e.id = any(m.endpoint_ids) and ${takes('m.type')})`

/** The changes by receipts, from their `effects` (db/receipts/receipt-rule.ts). */
export const announceReceipts = announceMade(madeByReceipts)

/** The ends of sends of `ended`, which receipts may have confirmed, and what else receipts changed. @param providerCode SQL. */
export const announceEndsAndReceipts = (providerCode: string) =>
  announceMade(
    madeByReceipts,
    sqlText`
      select ended.request_id, 0, 0, 'message.' || ended.status, null, ${providerCode}
      from ended where ended.status <> 'queued' and not ended.confirms`,
  )

/** SQL of those of the endpoints that may be called now. The others are woken when they may. */
export const endpointsToWake = (endpointIds: string) => sqlText`
  case when ${endpointIds} is not null then
    (select array_agg(e.id) from endpoints e
     where e.id = any(${endpointIds}) and e.disabled_at is null
       and coalesce(e.breaker_open_until <= clock_timestamp(), true)) end as "endpointsToWake"`

/** SQL of the endpoints of the callbacks about sends of `written`. */
export const theirEndpoints = endpointsToWake('written.endpoint_ids')
