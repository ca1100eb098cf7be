import { sql } from 'drizzle-orm'
import { LRUCache } from 'lru-cache'
import type { Database } from './client.ts'

const measureEveryMs = 60_000

/**
 * How far PostgreSQL's clock is ahead of this machine's, in milliseconds: never more than it is, and less by a round
 * trip at the most. Measured once a minute; moments that PostgreSQL compares with its own clock are reckoned with it,
 * and come a little early rather than late.
 */
export function databaseClock(db: Database): () => Promise<number> {
  const offsets = new LRUCache<'offset', { aheadMs: number }>({
    max: 1,
    ttl: measureEveryMs,
    fetchMethod: async () => ({ aheadMs: await measure(db) }),
  })
  return async () => (await offsets.fetch('offset'))?.aheadMs ?? 0
}

async function measure(db: Database): Promise<number> {
  const { rows } = await db.execute<{ ms: number }>(
    sql`select extract(epoch from clock_timestamp())::float8 * 1000 as ms`,
  )
  return (rows[0]?.ms ?? 0) - Date.now()
}
