import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { drizzle } from 'drizzle-orm/node-postgres'
import { migrate } from 'drizzle-orm/node-postgres/migrator'
import pg from 'pg'
import { connectionString } from './connection-string.ts'
import { isConflict } from './errors.ts'

const migrationsFolder = fileURLToPath(new URL('migrations', import.meta.url))

/** Any number that no other program uses for an advisory lock in this database. */
const migrationLock = 7_091_500_211

/**
 * Sets the planner options for the role, because through a pooler in transaction mode they can't be set on a connection
 * (client.ts). If the role that migrates is not the service's, or lacks the privilege, the service logs that.
 */
const plansForFullTables = `do $$ begin
  execute format('alter role %I in database %I set enable_seqscan = off', current_user, current_database());
  execute format('alter role %I in database %I set jit = off', current_user, current_database());
exception when insufficient_privilege then null;
end $$`

/** Other statements wait behind a migration that waits for a table in use, and an accept waits a second at most. */
const lockTimeoutMs = 500
const pauseMs = 1000
const maxTries = 120

/** Migrates the database to this release's schema. Concurrent calls run one after another; all but the first find nothing to do. */
export async function migrateDatabase(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: connectionString(url), connectionTimeoutMillis: 10_000 })
  await client.connect()
  try {
    for (let tries = 1; !(await runMigrations(client, tries === maxTries)); tries++) await sleep(pauseMs)
    await validateChecks(client)
  } finally {
    await client.end()
  }
}

/** @returns false if a table was in use for too long; on the last try, throws instead. */
async function runMigrations(client: pg.Client, isLastTry: boolean): Promise<boolean> {
  try {
    // In one transaction, which drizzle's commit ends: through a pooler in transaction mode, a session lock would be left behind.
    await client.query('begin')
    await client.query('select pg_advisory_xact_lock($1)', [migrationLock])
    await client.query(plansForFullTables)
    await client.query(`set local lock_timeout = ${lockTimeoutMs}`)
    await migrate(drizzle(client), { migrationsFolder })
    return true
  } catch (error) {
    if (isLastTry || !isConflict(error)) throw error
    await client.query('rollback')
    return false
  }
}

/** Checks the existing rows against constraints that a migration added `not valid`. It blocks neither reads nor writes. */
async function validateChecks(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ statement: string }>(`
    select format('alter table %s ', conrelid::regclass) ||
           string_agg(format('validate constraint %I', conname), ', ' order by conname) as statement
    from pg_constraint
    where contype = 'c' and not convalidated and connamespace = current_schema()::regnamespace
    group by conrelid order by conrelid`)
  for (const { statement } of rows) await client.query(statement)
}
