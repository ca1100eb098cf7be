import { drizzle, type NodePgDatabase } from 'drizzle-orm/node-postgres'
import pg from 'pg'
import * as schema from './schema.ts'

export type Database = NodePgDatabase<typeof schema> & { $client: pg.Pool }

/** How long to wait for a connection, whether PostgreSQL is gone or hangs. */
const connectTimeoutMs = 1000

/**
 * A plan outlives the table it was made for: one that reads a table whole, because it was all but empty, would still do so
 * for each accept and claim of a flood (docs/decisions/0036-steady-estimates.md). Whatever has no index is read as before;
 * PostgreSQL before 18 takes that to be so dear that it would compile each such statement first.
 */
const plansForFullTables = 'set enable_seqscan = off; set jit = off'

export interface DatabaseOptions {
  poolSize: number
  /** After which a statement fails and its connection, which may hang, is given up. */
  queryTimeoutMs: number
  /** Told of connections that break while nobody uses them; the pool replaces them by itself. */
  onConnectionLost: (error: Error) => void
}

/** A pool of connections; none is opened before it is needed, so a process starts while PostgreSQL is away. */
export function connectDatabase(url: string, options: DatabaseOptions): Database {
  const pool = new pg.Pool({
    connectionString: url,
    max: options.poolSize,
    connectionTimeoutMillis: connectTimeoutMs,
    query_timeout: options.queryTimeoutMs,
    keepAlive: true,
    onConnect: async (client) => void (await client.query(plansForFullTables)),
  })
  pool.on('error', options.onConnectionLost)
  // One that breaks while it is in use fails the statement at work, or the next one. Unheard, it would end the process.
  pool.on('connect', (client) => client.on('error', () => {}))
  return drizzle(pool, { schema })
}

/** What can be done within a transaction. */
export type Transaction = NodePgDatabase & { $client: pg.PoolClient }

/** So that a process that is frozen or cut off in the middle keeps its locks from nobody. */
export const givesUpAfterMs = 2000
const givesUpLocks = `set local idle_in_transaction_session_timeout = ${givesUpAfterMs}; set local lock_timeout = '5s'`

/** Does some work in a transaction of its own. Where it fails, its connection, which may hang, is given up. */
export async function inTransaction<Result>(
  db: Database,
  work: (transaction: Transaction) => Promise<Result>,
): Promise<Result> {
  const client = await db.$client.connect()
  try {
    await client.query(`begin; ${givesUpLocks}`)
    const result = await work(drizzle(client))
    await client.query('commit')
    client.release()
    return result
  } catch (error) {
    client.release(true)
    throw error
  }
}
