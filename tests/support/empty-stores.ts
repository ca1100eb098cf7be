import { getTableName, isTable } from 'drizzle-orm'
import type { Redis } from 'ioredis'
import * as schema from '../../db/schema.ts'
import type { Runtime } from '../../src/runtime.ts'

/** All but what a migration fills. */
const tables = Object.values(schema)
  .filter((one) => isTable(one))
  .map(getTableName)
  .filter((name) => name !== getTableName(schema.phoneZones))
/** Rows that were deleted, by database. They take space, and time of scans, until a truncation. */
const deleted = new Map<string, number>()
const enoughToTruncate = 2000
const deadlockDetected = '40P01'

let objects: unknown

/** Remembers the objects of a database that no test has used yet. */
export async function noteObjects({ db }: Pick<Runtime, 'db'>): Promise<void> {
  objects ??= await objectsIn(db)
}

/**
 * @param others connections to Redis that go on to be used.
 * @throws if the schema isn't as it was: a test that changes it needs stores of its own.
 */
export async function emptyStores(
  { db, shards }: Pick<Runtime, 'db' | 'shards'>,
  ...others: Redis[]
): Promise<void> {
  await Promise.all([
    deleteRows(db),
    flush(
      shards.map(({ redis }) => redis),
      others,
    ),
  ])
  if ((await objectsIn(db)) !== objects)
    throw new Error('A test that changes the schema needs stores of its own')
}

/**
 * Redis may not have read yet what was written to a connection before its client closed it, so such a connection is closed
 * first; what is written to the others before is executed before.
 */
async function flush(shards: readonly Redis[], others: readonly Redis[]): Promise<void> {
  const kept = await Promise.all([...shards, ...others].map((one) => one.client('ID').catch(() => undefined)))
  for (const redis of shards) {
    const clients = String(await redis.client('LIST')).split('\n')
    for (const client of clients.filter((line) => line.includes(` db=${redis.options.db} `))) {
      const id = Number(/^id=(\d+)/.exec(client)?.[1])
      if (!kept.includes(id)) await redis.client('KILL', 'ID', id)
    }
    await redis.flushdb()
  }
}

/**
 * Deletes, because to truncate is to create a file for each table and index, and to remove one. Waits for statements that
 * still run, as a truncation does. If it and one of them wait for each other, PostgreSQL ends one of the two.
 */
async function deleteRows(db: Runtime['db']): Promise<void> {
  await deleteRowsOnce(db).catch((error: unknown) => {
    if ((error as { code?: string }).code !== deadlockDetected) throw error
    return deleteRowsOnce(db)
  })
}

async function deleteRowsOnce({ $client }: Runtime['db']): Promise<void> {
  const name = `${$client.options.connectionString}`
  const results: unknown = await $client.query(`
    begin; lock table ${tables} in access exclusive mode; set local session_replication_role = replica;
    ${tables.map((table) => `delete from ${table};`).join(' ')}
    commit`)
  const rows = (results as { rowCount: number | null }[]).reduce(
    (sum, { rowCount }) => sum + (rowCount ?? 0),
    0,
  )
  const since = (deleted.get(name) ?? 0) + rows
  deleted.set(name, since < enoughToTruncate ? since : 0)
  if (since >= enoughToTruncate) await $client.query(`truncate ${tables}`)
}

/** All objects that aren't PostgreSQL's own, in one text. */
async function objectsIn({ $client }: Runtime['db']): Promise<unknown> {
  const { rows } = await $client.query(`
    select string_agg(name, ' ' order by name) as names from (
      select concat_ws(':', relname, reloptions) as name from pg_class where oid > 16383
      union all select attrelid::regclass || '.' || attname from pg_attribute where attrelid > 16383
      union all select tgname from pg_trigger
      union all select proname from pg_proc where oid > 16383) objects`)
  return rows[0].names
}
