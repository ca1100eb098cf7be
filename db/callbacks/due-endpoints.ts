import type { EndpointWakeUp } from '../../src/core/callbacks/callback-job.ts'
import type { Database } from '../connection/client.ts'
import { isGiven, prepared, sqlText } from '../statement.ts'
import { isEndpointInSlowStart, isFirst } from './endpoint-claims.ts'

/** SQL of what a wake-up of an endpoint `e` needs beside its time. */
const kind = sqlText`
  ${isEndpointInSlowStart} as "isInSlowStart",
  extract(epoch from clock_timestamp() - e.failing_since)::int as "failingForSeconds"`

/** SQL of the time until an endpoint `e` that nobody is calling can be called with a callback; no row if it has none. */
const nextCall = sqlText`
  select greatest(0, ceil(1000 * extract(epoch from
           greatest(c.next_try_at, e.breaker_open_until) - clock_timestamp())))::float8 as "inMs"
  from callbacks c
  where c.endpoint_id = e.id and c.finished_at is null
    and ${isFirst}
  order by c.next_try_at
  limit 1`

const nextCallsStatement = prepared<EndpointWakeUp>(
  'next_calls',
  'Finds when endpoints are to be called next.',
  sqlText`
    select e.id as "endpointId", due."inMs", ${kind}
    from endpoints e cross join lateral (
      ${nextCall}) due
    where ${isGiven('e.id')} and e.disabled_at is null and e.claim_id is null`,
)

/** When endpoints are to be called next. Endpoints with no callback, or that a worker is calling, are missing from the result. */
export function findNextCalls(db: Database, endpointIds: readonly string[]): Promise<EndpointWakeUp[]> {
  return nextCallsStatement(db, [endpointIds])
}

/**
 * Finds the endpoints one by one by the index of waiting callbacks, whose order it asks for, instead of reading all their callbacks: with `exists`, PostgreSQL might join them;
 * with `clock_timestamp()`, it would read all that are tried again later.
 */
const dueEndpointsStatement = prepared<EndpointWakeUp>(
  'due_endpoints',
  'Lists the endpoints that have been due for a while, and that nobody is calling.',
  sqlText`
    with recursive waiting as (
      (select endpoint_id as id from callbacks where finished_at is null
       order by endpoint_id, next_try_at limit 1)
      union all
      select (select endpoint_id from callbacks where finished_at is null and endpoint_id > waiting.id
              order by endpoint_id, next_try_at limit 1)
      from waiting where waiting.id is not null)
    select e.id as "endpointId", 0 as "inMs", ${kind}
    from waiting join endpoints e using (id)
    where e.disabled_at is null and e.claim_id is null
      and coalesce(e.breaker_open_until <= clock_timestamp() - $1 * interval '1 ms', true)
      and (
        select true from callbacks c
        where c.endpoint_id = e.id and c.finished_at is null
          and c.next_try_at <= now() - $1 * interval '1 ms'
          and ${isFirst}
        order by c.next_try_at
        limit 1)`,
)

/** All of them: endpoints in slow start stay due while their wake-ups wait, and may be many. */
export function findDueEndpoints(db: Database, overdueByMs: number): Promise<EndpointWakeUp[]> {
  return dueEndpointsStatement(db, [overdueByMs])
}
