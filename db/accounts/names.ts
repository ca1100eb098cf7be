import { isStorable } from '../../src/core/requests/characters.ts'
import type { Database } from '../connection/client.ts'
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

/** The things with a name by which lists are filtered. */
export type Named = 'account' | 'channel' | 'flow'

const withNameStatement = prepared<{ id: string; accountId: string }>(
  'with_id_or_name',
  'Finds accounts, channels, deleted ones too, or flows, by their id or their name.',
  sqlText`
    -- $1: the id or the name; $2: of what.
    select id, account_id as "accountId" from channels where $2 = 'channel' and (id::text = $1 or name = $1)
    union all
    select id, account_id from flows where $2 = 'flow' and (id::text = $1 or name = $1)
    union all
    select id, id from accounts where $2 = 'account' and (id::text = $1 or name = $1)`,
)

/** The accounts, channels or flows with this id or name. Names needn't be unique. */
export async function withIdOrName(db: Database, of: Named, idOrName: string) {
  // PostgreSQL refuses to compare with such a text.
  return isStorable(idOrName) ? await withNameStatement(db, [idOrName, of]) : []
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
