import { getTableName, is, sql } from 'drizzle-orm'
import { PgTable } from 'drizzle-orm/pg-core'
import { postgresCauses, type StoreCause } from '../../src/core/store-causes.ts'
import { isMigrated } from '../migrations.ts'
import * as schema from '../schema.ts'
import type { Database } from './client.ts'

const tableNames = Object.values(schema as Record<string, unknown>)
  .filter((table) => is(table, PgTable))
  .map((table) => getTableName(table as PgTable))

const mayRead = `has_table_privilege(oid, 'select')`
const mayWrite = `has_table_privilege(oid, 'insert') and has_table_privilege(oid, 'update')`

/** By the catalog, since a statement that fails would close its connection. */
const state = sql.raw(`
  select current_setting('transaction_read_only') = 'on' as "isReadOnly",
         bool_and(${mayRead}) as "mayRead", bool_and(${mayWrite}) filter (where relname = 'sends') as "mayWrite"
  from pg_class
  where relnamespace = 'public'::regnamespace and relname in (${tableNames.map((name) => `'${name}'`).join(', ')})`)

interface State extends Record<string, unknown> {
  isReadOnly: boolean
  /** Null without any of the tables. */
  mayRead: boolean | null
  mayWrite: boolean | null
}

/**
 * Asks PostgreSQL why it can't be used: undefined if it can. A full disk isn't seen, since nothing is written.
 *
 * @param needsWrites whether the process is of no use to a standby.
 * @throws the driver's error: `databaseCause` names its cause.
 */
export async function askDatabase(db: Database, needsWrites: boolean): Promise<StoreCause | undefined> {
  const { rows } = await db.execute<State>(state)
  const { isReadOnly = false, mayRead = null, mayWrite = null } = rows[0] ?? {}
  if (needsWrites && isReadOnly) return postgresCauses.read_only
  if (mayRead === false || (needsWrites && mayWrite === false)) return postgresCauses.no_permission
  return (await isMigrated(db)) ? undefined : postgresCauses.not_migrated
}
