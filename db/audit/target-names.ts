import { canBeRecordId } from '../../src/core/requests/record-id.ts'
import type { Database } from '../connection/client.ts'
import { isGiven, prepared, sqlText } from '../statement.ts'

const statement = prepared<{ id: string; name: string }>(
  'names_of_targets',
  'Reads the names of what rows of the audit are about.',
  sqlText`
    select id, name from accounts where ${isGiven('id')}
    union all
    select id, name from channels where ${isGiven('id')}
    union all
    select id, name from flows where ${isGiven('id')}
    union all
    -- Only the host of a URL: its path and query may hold secrets.
    select id, substring(url from '^[a-z]+://(?:[^/?#@]*@)?([^/?#]+)')
    from endpoints where ${isGiven('id')}
    union all
    select id, display_prefix from api_keys where ${isGiven('id')}`,
)

/** The names of targets by their ids: of an endpoint its host, of a key its display prefix. A target that is gone has none. */
export async function targetNames(
  db: Database,
  targets: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const ids = [...new Set(targets.filter(canBeRecordId))]
  const rows = ids.length > 0 ? await statement(db, [ids]) : []
  return new Map(rows.map(({ id, name }) => [id, name]))
}
