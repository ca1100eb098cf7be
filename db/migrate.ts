import { setTimeout as sleep } from 'node:timers/promises'
import { readMigrationFiles } from 'drizzle-orm/migrator'
import pg from 'pg'
import { connectionString } from './connection/connection-string.ts'
import { isConflict, lacksPrivilege } from './connection/errors.ts'
import { DatabaseFault, prepareForRole } from './connection/session.ts'
import { updatePhoneZones } from './delivery/phone-zones.ts'
import { latestMigration, migrationsFolder, migrationsTable } from './migrations.ts'

/** Any number that no other program uses for an advisory lock in this database. */
const migrationLock = 7_091_500_211

/** Other statements wait behind a migration that waits for a table in use, and an accept waits a second at most. */
const lockTimeoutMs = 500
const pauseMs = 1000
const maxTries = 120
/** An index of a large table takes longer than a role's statements may. */
const withoutTimeLimit = 'set local statement_timeout = 0'

/**
 * Migrates the database to this release's schema. Concurrent calls run one after another; all but the first find nothing to do.
 *
 * @throws DatabaseFault if the database is unfit, or the role lacks a privilege.
 */
export async function migrateDatabase(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: connectionString(url), connectionTimeoutMillis: 10_000 })
  await client.connect()
  try {
    for (let tries = 1; !(await runMigrations(client, tries === maxTries)); tries++) await sleep(pauseMs)
    await validateChecks(client)
  } catch (error) {
    throw lacksPrivilege(error) ? roleFault(error) : error
  } finally {
    await client.end()
  }
}

const roleFault = ({ message }: Error) =>
  new DatabaseFault(
    `DATABASE_URL: its role may not migrate (${message}); use one that owns the schema public and its tables, and the schema drizzle or has CREATE on the database`,
  )

/** @returns false if a table was in use for too long; on the last try, throws instead. */
async function runMigrations(client: pg.Client, isLastTry: boolean): Promise<boolean> {
  try {
    // In one transaction: through a pooler in transaction mode, a session lock would be left behind.
    await client.query(`begin isolation level read committed; ${withoutTimeLimit}`)
    await client.query('select pg_advisory_xact_lock($1)', [migrationLock])
    await prepareForRole(client)
    await client.query(`set local lock_timeout = ${lockTimeoutMs}`)
    await runMissing(client)
    await updatePhoneZones(client)
    await client.query('commit')
    return true
  } catch (error) {
    if (isLastTry || !isConflict(error)) throw error
    await client.query('rollback')
    return false
  }
}

/**
 * Does what drizzle's migrator does, but creates the schema and the table only where they are missing: `if not exists` requires the
 * privilege to create them nevertheless.
 */
async function runMissing(client: pg.Client): Promise<void> {
  const { rows: schemas } = await client.query(`select from pg_namespace where nspname = 'drizzle'`)
  if (schemas.length === 0) await client.query('create schema drizzle')
  const { rows: tables } = await client.query(`select where to_regclass('${migrationsTable}') is not null`)
  if (tables.length === 0)
    await client.query(
      `create table ${migrationsTable} (id serial primary key, hash text not null, created_at bigint)`,
    )
  const latest = await latestMigration(client)
  for (const { sql, hash, folderMillis } of readMigrationFiles({ migrationsFolder })) {
    if (folderMillis <= latest) continue
    for (const statement of sql) await client.query(statement)
    await client.query(`insert into ${migrationsTable} (hash, created_at) values ($1, $2)`, [
      hash,
      folderMillis,
    ])
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
  for (const { statement } of rows) await client.query(`begin; ${withoutTimeLimit}; ${statement}; commit`)
}
