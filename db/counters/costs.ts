import { sqlText } from '../statement.ts'
import { countersOf, hourOf } from './counted-as.ts'

/*
 * What sends cost (docs/reference/timeline.md#cost). `sends.costs` has the last price of each message of a send that its provider
 * answered or reported, by a hash of the provider's id of the message: a repeated or later report replaces the one before, and the
 * messages of a fallback or replay add up. A statement that changes it counts the difference.
 */

/** SQL of the message that a price is of. @param ids SQL of its ids, the first known one counts; the last one stands for a message without any. */
export const messageOfCost = (...ids: string[]) => sqlText`
  left(md5(coalesce(
    ${ids.join(',\n')})), 12)`

const priceIn = (fields: string) => sqlText`
  jsonb_build_object(
    'amount', ${fields}->'cost'->>'amount',
    'currency', ${fields}->'cost'->>'currency')`
const isPriced = (fields: string) => `${fields}->'cost'->>'amount' is not null`
const partsIn = (fields: string) => `(${fields}->'cost'->>'parts')::smallint`

/** SQL of columns of an answer: its price, by its message, and the parts. */
export const costOfAnswer = (fields: string, message: string) => sqlText`
  case when ${isPriced(fields)} then
    jsonb_build_object(
      ${message},
      ${priceIn(fields)}) end as new_costs,
  ${partsIn(fields)} as new_parts`

/** SQL of columns of receipts, over all of their send: the prices, and the parts one after the other. `cost_message` is the message of each. */
export const costsOfReceipts = sqlText`
  jsonb_object_agg(
    cost_message,
    ${priceIn('fields')})
    filter (where is_recorded and ${isPriced('fields')}) over every as new_costs,
  array_agg(${partsIn('fields')})
    filter (where is_recorded and ${partsIn('fields')} is not null) over every as all_parts`

/** SQL that sets what a send costs. @param before a relation of its row as it was; @param news relations with the columns above, the latest last. */
export const setCosts = (before: string, ...news: string[]) => sqlText`
  costs = nullif(coalesce(${before}.costs, '{}')
    ${news.map((relation) => `|| coalesce(${relation}.new_costs, '{}')`).join(' ')}, '{}'),
  segments = coalesce(
    case when ${before}.message_type <> 'media' then
      coalesce(${[...news]
        .reverse()
        .map((relation) => `${relation}.new_parts`)
        .join(', ')}) end,
    ${before}.segments)`

/** SQL of columns of a written send `s`, for `countCosts`. @param before as above. */
export const costColumns = (before: string) => sqlText`
  s.costs, s.segments, ${before}.costs as costs_before, ${before}.segments as segments_before`

const pricesOf = (costs: string, sign: '' | '-') => sqlText`
  select p.value->>'currency' as currency, ${sign}(p.value->>'amount')::numeric as amount
  from jsonb_each(${costs}) p`

/** SQL of a CTE that counts what the costs and segments of the sends of `written` have changed by. */
export const countCosts = sqlText`
  -- The counters of their costs.
  counted_costs as (
    insert into send_count_changes (
      ${countersOf}, segments, currency, amount)
    select w.account_id, w.counted_channel, ${hourOf('w.accepted_at')},
           w.counted_priority, 'accepted', 0, d.segments, d.currency, d.amount
    from written w cross join lateral (
      select coalesce(w.segments, 0) - coalesce(w.segments_before, 0) as segments, null as currency, null as amount
      where w.segments is distinct from w.segments_before
      union all
      select 0, currency, sum(amount)
      from (
        ${pricesOf('w.costs', '')}
        union all
        ${pricesOf('w.costs_before', '-')}) p
      where w.costs is distinct from w.costs_before
      group by currency having sum(amount) <> 0) d)`
