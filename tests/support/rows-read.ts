import type { Database } from '../../db/client.ts'

/**
 * Rows of a table that PostgreSQL has read on the way, whichever way it went.
 *
 * @param db with one connection, on which the work runs.
 */
export async function rowsRead(db: Database, work: () => Promise<unknown>, table = 'sends'): Promise<number> {
  const count = async () => {
    await db.$client.query('select pg_stat_force_next_flush()')
    const { rows } = await db.$client.query<{ read: string }>(
      `select seq_tup_read + idx_tup_fetch as read from pg_stat_user_tables where relname = $1`,
      [table],
    )
    return Number(rows[0]?.read)
  }
  const before = await count()
  await work()
  return (await count()) - before
}
