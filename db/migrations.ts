import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type pg from 'pg'
import type { Database } from './connection/client.ts'

export const migrationsFolder = fileURLToPath(new URL('migrations', import.meta.url))
/** Named as drizzle's migrator names it, which earlier releases used. */
export const migrationsTable = 'drizzle.__drizzle_migrations'

/** The number of the latest migration that the database has; 0 if it has none. */
export async function latestMigration(client: Pick<pg.ClientBase, 'query'>): Promise<number> {
  const { rows } = await client.query<{ latest: string }>(
    `select coalesce(max(created_at), 0) as latest from ${migrationsTable}`,
  )
  return Number(rows[0]?.latest)
}

/** The number of this release's latest migration. */
function ownMigration(): number {
  const journal = JSON.parse(readFileSync(join(migrationsFolder, 'meta/_journal.json'), 'utf8'))
  return Math.max(...(journal as { entries: { when: number }[] }).entries.map(({ when }) => when))
}
const own = ownMigration()

const migrated = new WeakSet<pg.Pool>()

/** Whether the database has all migrations of this release; true also if this role may not read that. */
export async function isMigrated({ $client }: Pick<Database, '$client'>): Promise<boolean> {
  if (migrated.has($client)) return true
  // By the catalog: a statement that fails would close its connection.
  const { rows } = await $client.query<{ isReadable: boolean }>(`
    select has_schema_privilege(n.oid, 'usage') and has_table_privilege(c.oid, 'select') as "isReadable"
    from pg_namespace n join pg_class c on c.relnamespace = n.oid
    where n.nspname || '.' || c.relname = '${migrationsTable}'`)
  const [table] = rows
  if (!table || (table.isReadable && (await latestMigration($client)) < own)) return false
  migrated.add($client)
  return true
}
