import type { Database } from '../client.ts'
import { isGiven, prepared, sqlText } from '../statement.ts'

const namesStatement = prepared<{ id: string; name: string }>(
  'names_of',
  'Reads the names of accounts, channels and flows, for lists of the console.',
  ['accounts', 'channels', 'flows']
    .map(
      (table) => sqlText`
      select id, name from ${table} where ${isGiven('id')}`,
    )
    .join('\nunion all\n'),
)

/** The names of accounts, channels and flows by their ids. */
export async function namesOf(db: Database, ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const rows = ids.length > 0 ? await namesStatement(db, [[...new Set(ids)]]) : []
  return new Map(rows.map(({ id, name }) => [id, name]))
}

const withNameStatement = prepared<{ id: string; accountId: string }>(
  'with_id_or_name',
  'Finds accounts or channels, deleted ones too, by their id or their name.',
  sqlText`
    -- $1: the id or the name; $2: whether a channel is looked for.
    select id, account_id as "accountId" from channels where $2 and (id::text = $1 or name = $1)
    union all
    select id, id from accounts where not $2 and (id::text = $1 or name = $1)`,
)

/** The accounts or channels with this id or name. Names needn't be unique. */
export function withIdOrName(db: Database, of: 'account' | 'channel', idOrName: string) {
  return withNameStatement(db, [idOrName, of === 'channel'])
}

const channelsStatement = prepared<{ id: string; name: string }>(
  'names_of_channels',
  'Lists the channels of an account by their names, for the forms of the console.',
  'select id, name from channels where account_id = $1 and deleted_at is null order by name, id',
)

/** The channels of an account, by name. */
export function accountChannels(db: Database, accountId: string) {
  return channelsStatement(db, [accountId])
}
