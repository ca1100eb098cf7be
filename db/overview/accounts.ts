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
