import { type CallbackState, type CallbackType, webhookIdOf } from '../../src/core/callbacks/callback.ts'
import type { CallbackTry } from '../../src/core/callbacks/callback-outcome.ts'
import type { Place } from '../../src/core/requests/list-place.ts'
import type { Database } from '../connection/client.ts'
import type { Page, PageAsked } from '../page.ts'
import { microsOf } from '../page.ts'
import { type Count, mostCounted } from '../sends/list-count.ts'
import { prepared, sqlText } from '../statement.ts'

/** A callback, as the owner of its endpoint sees it. */
export interface OwnCallback {
  requestId: string
  sequence: number
  type: CallbackType
  at: Date
  state: CallbackState
  tries: CallbackTry[]
  /** Null unless it waits. */
  nextTryAt: Date | null
}

/** Limit of the callbacks looked at for a page. */
export const maxLookedAt = 30_000

/** Where the statement stopped to look; null if it found enough before. */
interface End {
  endMicros: string | null
  endId: string | null
  endSequence: number | null
}
type Found = OwnCallback & { micros: string } & End
/** If none was found, one row has the end alone. */
type Row = { [Name in Exclude<keyof Found, keyof End>]: Found[Name] | null } & End

const newestFirst = (of: string) =>
  `order by ${of}.created_at desc, ${of}.request_id desc, ${of}.sequence desc`

const stateOf = sqlText`
  case when c.finished_at is null then 'waiting' when c.given_up then 'given_up' else 'delivered' end`

/** The limit is a subquery, as in db/sends/list.ts: otherwise the planner might sort all. */
const pageStatement = prepared<Row>(
  'callbacks_of_endpoint',
  'Lists a page of the callbacks of an endpoint, the newest first, for its account.',
  sqlText`
    -- $1: the endpoint; $2: after this time; $3: of those, after this send; $4: and number; $5: the state, null for all;
    -- $6: how many to look at; $7: the limit of the page, and one more.
    with
    -- The next callbacks, matching or not, so that every page takes about the same time.
    looked_at as materialized (
      select c.request_id, c.sequence, c.created_at,
             ${stateOf} as state
      from callbacks c
      where c.endpoint_id = $1 and coalesce(c.sequence, 0) >= 0
        and (c.created_at, c.request_id, c.sequence) < ($2::timestamptz, $3::uuid, $4::int)
      ${newestFirst('c')} limit (select $6::int)),
    page as materialized (
      select * from looked_at l where coalesce(l.state = $5, $5 is null)
      ${newestFirst('l')} limit $7),
    -- The last one that was looked at, if there may be more.
    last as materialized (
      select * from looked_at l
      ${newestFirst('l')} offset (select $6::int - 1) limit 1)
    select c.request_id as "requestId", c.sequence, c.type, c.created_at as at, p.state, c.tries,
           case when p.state = 'waiting' then greatest(c.next_try_at, e.breaker_open_until) end as "nextTryAt",
           ${microsOf('c.created_at')} as micros,
           ${microsOf('last.created_at')} as "endMicros", last.request_id as "endId",
           last.sequence as "endSequence"
    from (select) one left join last on true
      left join (
        page p cross join endpoints e cross join lateral (
          select * from callbacks c
          where c.endpoint_id = e.id and c.request_id = p.request_id and c.sequence = p.sequence
          limit 1) c) on e.id = $1
    ${newestFirst('c')}`,
)

const start = ['infinity', 'ffffffff-ffff-ffff-ffff-ffffffffffff', 2_147_483_647]

/** A page of the callbacks of an endpoint, the newest first. It may be short although there are more. */
export async function pageOfCallbacks(
  db: Database,
  endpointId: string,
  { limit, after, state }: PageAsked & { state?: CallbackState | undefined },
  mostLookedAt = maxLookedAt,
): Promise<Page<OwnCallback>> {
  const place = after ? valuesOf(after) : start
  const rows = await pageStatement(db, [endpointId, ...place, state ?? null, mostLookedAt, limit + 1])
  const found = rows.filter((row) => row.requestId !== null) as Found[]
  const page = found.slice(0, limit)
  const last = page.at(-1)
  return {
    items: page.map(callbackOf),
    next: found.length > limit && last ? { micros: last.micros, key: webhookIdOf(last) } : endOf(rows[0]),
  }
}

const callbackOf = ({
  micros: _,
  endMicros: _at,
  endId: _id,
  endSequence: _end,
  ...callback
}: Found): OwnCallback => callback

const countStatement = prepared<Count>(
  'count_callbacks_of_endpoint',
  'Counts the callbacks of an endpoint in a state, for its page.',
  sqlText`
    -- $1: the endpoint; $2: the state, null for all.
    select count(*) filter (where l.state = $2 or $2 is null)::int as count, count(*) > ${mostCounted} as "isMore"
    from (
      select
        ${stateOf} as state
      from callbacks c
      where c.endpoint_id = $1 and coalesce(c.sequence, 0) >= 0
      ${newestFirst('c')} limit ${mostCounted + 1}) l`,
)

/** By the index of those that wait, since these may be older than all that is looked at. */
const countWaitingStatement = prepared<Count>(
  'count_waiting_callbacks',
  'Counts the callbacks of an endpoint that wait, for its page.',
  sqlText`
    select count(*)::int as count, count(*) > ${mostCounted} as "isMore"
    from (select 1 from callbacks where endpoint_id = $1 and finished_at is null limit ${mostCounted + 1}) first`,
)

/** How many callbacks an endpoint has, in a state or in all. */
export async function countCallbacks(
  db: Database,
  endpointId: string,
  state: CallbackState | undefined,
): Promise<Count> {
  const [found] = await (state === 'waiting'
    ? countWaitingStatement(db, [endpointId])
    : countStatement(db, [endpointId, state ?? null]))
  return found ?? { count: 0, isMore: false }
}

/** The values of the statement for a place, whose key is a `webhookIdOf`. */
function valuesOf({ micros, key }: Place): [at: string, requestId: string, sequence: number] {
  const ms = new Date(Math.floor(Number(micros) / 1000)).toISOString()
  const end = key.lastIndexOf('-')
  return [
    ms.replace('Z', `${micros.slice(-3).padStart(3, '0')}Z`),
    key.slice(0, end),
    Number(key.slice(end + 1)),
  ]
}

/** After all that was looked at. */
function endOf(row: Row | undefined) {
  if (!row?.endMicros || !row.endId || row.endSequence === null) return undefined
  return {
    micros: row.endMicros,
    key: webhookIdOf({ requestId: row.endId, sequence: row.endSequence }),
  }
}
