import type { QueryResultRow } from 'pg'
import type { Database } from './client.ts'

/**
 * A statement of the hot path: prepared once a connection, outside the query builder.
 *
 * Many rows travel as one JSON parameter that `json_to_recordset` unfolds, however many columns they have
 * (docs/decisions/0007-json-recordset.md).
 *
 * @param name unique in the service.
 * @param timeoutMs after which it fails, where that has to be sooner than the process's other statements do.
 */
export function prepared<Result extends QueryResultRow>(name: string, text: string, timeoutMs?: number) {
  return async (db: Database, values: unknown[]): Promise<Result[]> => {
    const query = { name, text, values, query_timeout: timeoutMs }
    const { rows } = await db.$client.query<Result>(query)
    return rows
  }
}
