import type { Database } from '../connection/client.ts'
import { prepared, sqlText } from '../statement.ts'

export interface FoundAccount {
  accountId: string
  name: string
}

const findStatement = prepared<FoundAccount & { rank: number }>(
  'find_accounts',
  'Finds accounts by their id, or a part of their name in any case, for operators; those that fit best come first.',
  sqlText`
    -- $1: the id or the part; $2: how many.
    select id as "accountId", name,
           case when id::text = $1 then 0 when name = $1 then 1 when lower(name) = lower($1) then 2
                when starts_with(lower(name), lower($1)) then 3 else 4 end as rank
    from accounts
    where id::text = $1 or position(lower($1) in lower(name)) > 0
    order by rank, lower(name), id limit $2`,
)

/** The accounts with a text in their names, those first that begin with it. */
export async function accountsNamedLike(db: Database, part: string, limit: number): Promise<FoundAccount[]> {
  const rows = await findStatement(db, [part, limit])
  return rows.map(({ accountId, name }) => ({ accountId, name }))
}

/** The accounts that a typed text means: that with this id, else those with this name, else those with this text in their names. */
export async function findAccounts(db: Database, typed: string, limit: number): Promise<FoundAccount[]> {
  const rows = await findStatement(db, [typed, limit])
  const best = Math.min(rows[0]?.rank ?? 0, 3)
  return rows
    .filter(({ rank }) => Math.min(rank, 3) === best)
    .map(({ accountId, name }) => ({ accountId, name }))
}

/** An account, as operators see it in a list. */
export interface ListedAccount extends FoundAccount {
  rateLimitPoints: number | null
  rateLimitSeconds: number | null
  createdAt: Date
  channels: number
  /** Without revoked and expired ones. */
  keys: number
}

const listStatement = prepared<ListedAccount>(
  'list_accounts',
  'Lists a page of all accounts, the newest first, for operators.',
  sqlText`
    -- $1: of this account alone; $2: after this one; $3: how many.
    select a.id as "accountId", a.name, a.rate_limit_points as "rateLimitPoints",
           a.rate_limit_seconds as "rateLimitSeconds", a.created_at as "createdAt",
           (select count(*)::int from channels c where c.account_id = a.id and c.deleted_at is null) as channels,
           (select count(*)::int from api_keys k
            where k.account_id = a.id and k.revoked_at is null
              and (k.expires_at > now()) is not false) as keys
    from accounts a
    where ($1::uuid is null or a.id = $1) and ($2::uuid is null or a.id < $2)
    order by a.id desc limit $3`,
)

/** @param after the id after which the page begins. @returns one more than the limit, if there are more. */
export function pageOfAccounts(
  db: Database,
  { only = null, after = null }: { only?: string | null | undefined; after?: string | null | undefined },
  limit: number,
): Promise<ListedAccount[]> {
  return listStatement(db, [only, after, limit + 1])
}

/** How far the set-up of an account is. */
export interface SetUpProgress {
  /** A channel of it, to try. */
  channelId: string | null
  isTried: boolean
  hasKey: boolean
  /** Whether one of its last sends was posted with a key. */
  hasSent: boolean
}

const progressStatement = prepared<SetUpProgress>(
  'account_progress',
  'Finds how far the set-up of an account is.',
  sqlText`
    with own as (
      select id from channels where account_id = $1 and deleted_at is null order by created_at limit 100)
    select (select id from own limit 1) as "channelId",
           exists (select from audit t where t.target in (select id::text from own) and t.action = 'channel.try')
             as "isTried",
           exists (select from api_keys k
                   where k.account_id = $1 and k.revoked_at is null and (k.expires_at > now()) is not false)
             as "hasKey",
           exists (select from (select api_key_id from sends where account_id = $1
                                order by accepted_at desc limit 100) s
                   where s.api_key_id is not null) as "hasSent"`,
)

export async function setUpProgress(db: Database, accountId: string): Promise<SetUpProgress> {
  const [progress] = await progressStatement(db, [accountId])
  return progress ?? { channelId: null, isTried: false, hasKey: false, hasSent: false }
}
