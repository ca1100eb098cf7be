import { fileURLToPath } from 'node:url'
import { drizzle } from 'drizzle-orm/node-postgres'
import { migrate } from 'drizzle-orm/node-postgres/migrator'
import pg from 'pg'
import { connectionString } from './connection-string.ts'

const migrationsFolder = fileURLToPath(new URL('migrations', import.meta.url))

/** Any number that no other program uses for an advisory lock in this database. */
const migrationLock = 7_091_500_211

/**
 * Sets the planner options for the role, because through a pooler in transaction mode they can't be set on a connection
 * (client.ts). If the role that migrates is not the service's, or lacks the privilege, the service logs that (pooler.ts).
 */
const plansForFullTables = `do $$ begin
  execute format('alter role %I in database %I set enable_seqscan = off', current_user, current_database());
  execute format('alter role %I in database %I set jit = off', current_user, current_database());
exception when insufficient_privilege then null;
end $$`

/** Migrates the database to this release's schema. Concurrent calls run one after another; all but the first find nothing to do. */
export async function migrateDatabase(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: connectionString(url), connectionTimeoutMillis: 10_000 })
  await client.connect()
  try {
    // In one transaction, which drizzle's commit ends: through a pooler in transaction mode, a session lock would be left behind.
    await client.query('begin')
    await client.query('select pg_advisory_xact_lock($1)', [migrationLock])
    await client.query(plansForFullTables)
    await migrate(drizzle(client), { migrationsFolder })
  } finally {
    await client.end()
  }
}
