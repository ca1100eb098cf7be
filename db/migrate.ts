import { fileURLToPath } from 'node:url'
import { drizzle } from 'drizzle-orm/node-postgres'
import { migrate } from 'drizzle-orm/node-postgres/migrator'
import pg from 'pg'
import { connectionString } from './connection-string.ts'

const migrationsFolder = fileURLToPath(new URL('migrations', import.meta.url))

/** Any number that no other program uses for an advisory lock in this database. */
const migrationLock = 7_091_500_211

/**
 * Behind a pooler in transaction mode a connection can't keep what it has set (client.ts). The role that migrates may be
 * another than the service's, or not allowed to: then the service says so (pooler.ts).
 */
const plansForFullTables = `do $$ begin
  execute format('alter role %I in database %I set enable_seqscan = off', current_user, current_database());
  execute format('alter role %I in database %I set jit = off', current_user, current_database());
exception when insufficient_privilege then null;
end $$`

/** Brings the database to this release's schema. Callers at the same time go one after another; the rest find nothing to do. */
export async function migrateDatabase(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: connectionString(url), connectionTimeoutMillis: 10_000 })
  await client.connect()
  try {
    // Within one transaction, which drizzle's commit ends: a pooler in transaction mode would leave a lock of the session behind.
    await client.query('begin')
    await client.query('select pg_advisory_xact_lock($1)', [migrationLock])
    await client.query(plansForFullTables)
    await migrate(drizzle(client), { migrationsFolder })
  } finally {
    await client.end()
  }
}
