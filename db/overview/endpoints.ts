import type { Database } from '../connection/client.ts'
import { type Count, mostCounted } from '../sends/list-count.ts'
import { prepared, sqlText } from '../statement.ts'

/** An endpoint, as operators see it in a list. */
export interface ListedEndpoint {
  endpointId: string
  accountId: string
  accountName: string
  url: string
  disabledAt: Date | null
  disabledReason: string | null
  failingSince: Date | null
  answeredAt: Date | null
  /** Callbacks that wait, counted to `countedCallbacks`. */
  waiting: number
  /** When the first of them was due, or will be. */
  oldestDue: Date | null
}

/** A page counts no more waiting callbacks of an endpoint. */
export const countedCallbacks = 1000

/** Disabled ones first, then those that fail. */
const rank = sqlText`
  cross join lateral (
    select case when e.disabled_at is not null then 0
                when e.failing_since is not null then 1 else 2 end as rank) r`

export interface EndpointPlace {
  rank: number
  endpointId: string
}

export interface EndpointFilter {
  state?: 'disabled' | 'failing' | 'answering' | undefined
  /** An id or a name. */
  account?: string | undefined
}

/** SQL of the endpoints of a filter: `$1` is the state, `$2` the account's id or name. */
const filtered = sqlText`
  ($1::text is null or r.rank = array_position('{disabled,failing,answering}', $1) - 1)
    and ($2::text is null or a.name = $2 or a.id::text = $2)`

const countStatement = prepared<Count>(
  'count_listed_endpoints',
  'Counts the endpoints of a list of the console.',
  sqlText`
    -- $1: the state; $2: the account, its id or name.
    select least(count(*), ${mostCounted})::int as count, count(*) > ${mostCounted} as "isMore"
    from (
      select 1 from endpoints e join accounts a on a.id = e.account_id
        ${rank}
      where ${filtered}
      limit ${mostCounted + 1}) first`,
)

/** How many endpoints a list has. */
export async function countListedEndpoints(
  db: Database,
  { state = null, account = null }: { [Name in keyof EndpointFilter]: EndpointFilter[Name] | null },
): Promise<Count> {
  return (await countStatement(db, [state, account]))[0] ?? { count: 0, isMore: false }
}

const listStatement = prepared<ListedEndpoint & { rank: number }>(
  'list_endpoints',
  'Lists a page of all endpoints, those first that get no callbacks, for operators.',
  sqlText`
    -- $1: the state; $2: the account, its id or name; $3: after this rank; $4: and of it after this endpoint;
    -- $5: how many.
    select page.rank, e.id as "endpointId", e.account_id as "accountId", a.name as "accountName", e.url,
           e.disabled_at as "disabledAt", e.disabled_reason as "disabledReason", e.failing_since as "failingSince",
           e.answered_at as "answeredAt", w.waiting, w.oldest as "oldestDue"
    from (
      select e.id, r.rank
      from endpoints e join accounts a on a.id = e.account_id
        ${rank}
      where ${filtered}
        and ($3::int is null or (r.rank, e.id) > ($3::int, $4::uuid))
      order by 2, e.id limit $5) page
    join endpoints e on e.id = page.id join accounts a on a.id = e.account_id
    cross join lateral (
      select count(*)::int as waiting, min(next_try_at) as oldest
      from (select c.next_try_at from callbacks c
            where c.endpoint_id = e.id and c.finished_at is null
            order by c.next_try_at limit ${countedCallbacks + 1}) first) w
    order by page.rank, e.id`,
)

export async function listAllEndpoints(
  db: Database,
  { state = null, account = null }: { [Name in keyof EndpointFilter]: EndpointFilter[Name] | null },
  { after, limit }: { after?: EndpointPlace | undefined; limit: number },
): Promise<{ endpoints: ListedEndpoint[]; next: EndpointPlace | undefined }> {
  const place = [after?.rank ?? null, after?.endpointId ?? null]
  const rows = await listStatement(db, [state, account, ...place, limit + 1])
  const endpoints = rows.slice(0, limit)
  const last = endpoints.at(-1)
  const isMore = rows.length > limit && last !== undefined
  return { endpoints, next: isMore ? { rank: last.rank, endpointId: last.endpointId } : undefined }
}
