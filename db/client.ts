import { drizzle, type NodePgDatabase } from 'drizzle-orm/node-postgres'
import pg from 'pg'
import { connectionString } from './connection-string.ts'
import { checkPooler, type Pooler, PoolerFault } from './pooler.ts'
import * as schema from './schema.ts'

export type Database = NodePgDatabase<typeof schema> & { $client: pg.Pool }

/** How long to wait for a connection, if PostgreSQL is down or hangs. */
const connectTimeoutMs = 1000

/**
 * A prepared plan outlives the table that it was made for: a plan that reads a nearly empty table whole would still do so for
 * each accept and claim of a flood (docs/decisions/0036-steady-estimates.md). Statements without an index still read tables
 * whole; PostgreSQL before 18 considers that so expensive that it would compile each such statement, so jit is off.
 */
const plansForFullTables = `set_config('enable_seqscan', 'off', false), set_config('jit', 'off', false)`
/** An unusable pooler is checked again after this long. */
const checkAgainAfterMs = 5000

export interface DatabaseOptions {
  poolSize: number
  /** A statement that takes longer fails, and its connection, which may hang, is closed. */
  queryTimeoutMs: number
  /** Called when an idle connection breaks. The pool replaces it. */
  onConnectionLost: (error: Error) => void
  /** Called once if there is a pooler in between. */
  onPooler?: (pooler: Pooler) => void
}

/** Creates a connection pool. No connection is opened before it is needed, so that a process can start while PostgreSQL is down. */
export function connectDatabase(url: string, options: DatabaseOptions): Database {
  const allowPooler = poolerCheck(url, options)
  const pool = new pg.Pool({
    connectionString: connectionString(url),
    max: options.poolSize,
    connectionTimeoutMillis: connectTimeoutMs,
    query_timeout: options.queryTimeoutMs,
    keepAlive: true,
    onConnect: async (client) => {
      if (!(await setPlans(client))) await allowPooler()
    },
  })
  pool.on('error', options.onConnectionLost)
  // If a connection breaks in use, its current or next statement fails. Without a listener, the error would end the process.
  pool.on('connect', (client) => client.on('error', () => {}))
  return drizzle(pool, { schema })
}

/**
 * Sets the planner options, only on a direct connection: a pooler would pass the changed connection to its next client. A pooler
 * is recognised because it gives its clients process ids of its own.
 *
 * @returns whether the connection is direct.
 */
async function setPlans(client: pg.ClientBase): Promise<boolean> {
  const { processID } = client as unknown as { processID: number }
  const { rowCount } = await client.query(
    `select ${plansForFullTables} where pg_backend_pid() = ${processID}`,
  )
  return rowCount === 1
}

/** Creates the check that keeps statements away from a pooler that would mix them up (pooler.ts). */
function poolerCheck(url: string, { onPooler }: DatabaseOptions): () => Promise<unknown> {
  let checking: Promise<void> | undefined
  const forget = () => {
    checking = undefined
  }
  return () => {
    checking ??= checkPooler(url)
      .then((pooler) => onPooler?.(pooler))
      .catch((error) => {
        if (error instanceof PoolerFault) setTimeout(forget, checkAgainAfterMs).unref()
        else forget()
        throw error
      })
    return checking
  }
}

export type Transaction = NodePgDatabase & { $client: pg.PoolClient }

/** A transaction idle for this long is rolled back, so that a frozen or disconnected process doesn't keep its locks. */
export const givesUpAfterMs = 2000
const givesUpLocks = `set local idle_in_transaction_session_timeout = ${givesUpAfterMs}; set local lock_timeout = '5s'`

/** Runs work in a transaction. If it fails, the connection, which may hang, is closed. */
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
