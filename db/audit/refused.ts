import { MAX } from 'uuid'
import type { Database } from '../connection/client.ts'
import { type Count, mostCounted } from '../sends/list-count.ts'
import { prepared, sqlText } from '../statement.ts'

/** How many refused requests of an account are kept, and for how long. */
export const refusedKept = 1000
export const refusedKeptHours = 24

/** A request that was answered 4xx, without any value that the client sent. */
export interface RefusedRequest {
  requestId: string
  at: Date
  status: number
  message: string
  /** Method and pattern, such as `POST /v1/messages`. */
  route: string
  /** The names of the fields and parameters that were sent. */
  fields: string[]
}

/** By whom: a key that was found, or the hash of one that was minted here, in hex, which may be revoked or expired. */
export type KeyOfRefused = { keyId: string } | { keyHash: string }

const insertStatement = prepared<{ accountId: string }>(
  'record_refused',
  'Records requests that were answered 4xx, unless their key is unknown.',
  sqlText`
    insert into refused_requests (request_id, account_id, key_prefix, at, status, message, route, fields)
    select given."requestId", k.account_id, k.display_prefix, given.at, given.status, given.message, given.route,
           given.fields
    from json_to_recordset($1) as given
      ("requestId" uuid, "keyId" uuid, "keyHash" text, at timestamptz, status int, message text, route text, fields text[])
      join lateral (
        select * from api_keys where id = given."keyId"
        union all
        select * from api_keys where hash = decode(given."keyHash", 'hex')) k on true
    returning account_id as "accountId"`,
)

const trimStatement = prepared(
  'trim_refused_of_accounts',
  'Deletes the oldest refused requests of accounts that have more than are kept.',
  sqlText`
    -- $1: the accounts; $2: how many are kept of each.
    delete from refused_requests r
    using unnest($1::uuid[]) as a (id) cross join lateral (
      select request_id from refused_requests
      where account_id = a.id
      order by request_id desc offset $2 limit 1) newest_to_delete
    where r.account_id = a.id and r.request_id <= newest_to_delete.request_id`,
)

/** Records refused requests, and keeps the last ones of each account. */
export async function recordRefused(
  db: Database,
  refused: readonly (RefusedRequest & KeyOfRefused)[],
): Promise<void> {
  const rows = await insertStatement(db, [JSON.stringify(refused)])
  const accounts = [...new Set(rows.map(({ accountId }) => accountId))]
  if (accounts.length > 0) await trimStatement(db, [accounts, refusedKept])
}

/** Limit of the rows looked at for a page. */
const maxLookedAt = 10_000

export interface RefusedOfKey extends RefusedRequest {
  accountId: string
  accountName: string
  keyPrefix: string
}

type Row = { [Name in keyof RefusedOfKey]: RefusedOfKey[Name] | null } & { endId: string | null }

const newestFirst = (of: string) => `order by ${of}.request_id desc`

const isKept = `r.at > now() - interval '${refusedKeptHours} hours'`
const matches = sqlText`
  coalesce(l.account_id = any($1::uuid[]), true)
    and coalesce(l.status = $2::int, true)`
const isOfAccounts = 'r.account_id = any($1::uuid[])'

const pageBy = (name: string, purpose: string, which: string) =>
  prepared<Row>(
    name,
    purpose,
    sqlText`
      -- $1: the accounts, null for all; $2: the status, null for all; $3: before this request; $4: how many to look at;
      -- $5: the limit of the page, and one more.
      with
      -- The next rows, matching or not, so that every page takes about the same time.
      looked_at as materialized (
        select r.* from refused_requests r
        where ${which} and r.request_id < $3::uuid and ${isKept}
        ${newestFirst('r')} limit (select $4::int)),
      page as materialized (
        select * from looked_at l
        where ${matches}
        ${newestFirst('l')} limit $5),
      -- The last one that was looked at, if there may be more.
      last as materialized (
        select request_id from looked_at l
        ${newestFirst('l')} offset (select $4::int - 1) limit 1)
      select p.request_id as "requestId", p.account_id as "accountId", a.name as "accountName",
             p.key_prefix as "keyPrefix", p.at, p.status, p.message, p.route, p.fields, last.request_id as "endId"
      from (select) one left join last on true
        left join (page p join accounts a on a.id = p.account_id) on true
      ${newestFirst('p')}`,
  )

const ofAccounts = pageBy(
  'refused_of_accounts',
  'Lists a page of the refused requests of accounts.',
  isOfAccounts,
)
const ofAll = pageBy('refused_requests', 'Lists a page of all refused requests.', 'true')

export interface RefusedFilters {
  accountIds?: string[] | undefined
  status?: number | undefined
  /** The last request of the page before. */
  before?: string | undefined
}

/** A page of refused requests, the newest first. It may be short although there are more. @returns `next`: where the next page begins. */
export async function pageOfRefused(
  db: Database,
  { accountIds, status, before = MAX }: RefusedFilters,
  limit: number,
): Promise<{ items: RefusedOfKey[]; next: string | undefined }> {
  const list = accountIds ? ofAccounts : ofAll
  const rows = await list(db, [accountIds ?? null, status ?? null, before, maxLookedAt, limit + 1])
  const found = rows.filter(({ requestId }) => requestId !== null) as (RefusedOfKey & Row)[]
  const page = found.slice(0, limit)
  const next = found.length > limit ? page.at(-1)?.requestId : (rows[0]?.endId ?? undefined)
  return { items: page.map(({ endId: _, ...item }) => item), next }
}

const countBy = (name: string, purpose: string, which: string) =>
  prepared<Count>(
    name,
    purpose,
    sqlText`
      -- $1: the accounts, null for all; $2: the status, null for all.
      select count(*) filter (where
               ${matches})::int as count,
             count(*) > ${mostCounted} as "isMore"
      from (
        select r.* from refused_requests r
        where ${which} and ${isKept}
        ${newestFirst('r')} limit ${mostCounted + 1}) l`,
  )

const countOfAccounts = countBy(
  'count_refused_of_accounts',
  'Counts the refused requests of accounts.',
  isOfAccounts,
)
const countOfAll = countBy('count_refused', 'Counts all refused requests.', 'true')

/** How many refused requests match. Only the newest ones are looked at. */
export async function countRefused(
  db: Database,
  { accountIds, status }: Omit<RefusedFilters, 'before'>,
): Promise<Count> {
  const count = accountIds ? countOfAccounts : countOfAll
  return (await count(db, [accountIds ?? null, status ?? null]))[0] ?? { count: 0, isMore: false }
}
