import type { Database } from '../../db/connection/client.ts'

/**
 * Ranges of a table's indexes that PostgreSQL has read on the way.
 *
 * @param db with one connection, on which the work runs.
 */
export const rangesRead = (db: Database, work: () => Promise<unknown>, table: string): Promise<number> =>
  countedDuring(db, work, 'select sum(idx_scan) as read from pg_stat_user_indexes where relname = $1', table)

/**
 * Rows of a table that PostgreSQL has read on the way, whichever way it went.
 *
 * @param db with one connection, on which the work runs.
 */
export const rowsRead = (db: Database, work: () => Promise<unknown>, table = 'sends'): Promise<number> =>
  countedDuring(
    db,
    work,
    'select seq_tup_read + idx_tup_fetch as read from pg_stat_user_tables where relname = $1',
    table,
  )

async function countedDuring(db: Database, work: () => Promise<unknown>, statement: string, table: string) {
  const count = async () => {
    await db.$client.query('select pg_stat_force_next_flush()')
    const { rows } = await db.$client.query<{ read: string }>(statement, [table])
    return Number(rows[0]?.read)
  }
  const before = await count()
  await work()
  return (await count()) - before
}
