import { drizzle, type NodePgDatabase } from 'drizzle-orm/node-postgres'
import pg from 'pg'
import { connectionString } from './connection-string.ts'
import { checkPooler, type Pooler, PoolerFault } from './pooler.ts'
import * as schema from './schema.ts'

export type Database = NodePgDatabase<typeof schema> & { $client: pg.Pool }

/** How long to wait for a connection, whether PostgreSQL is gone or hangs. */
const connectTimeoutMs = 1000

/**
 * A plan outlives the table it was made for: one that reads a table whole, because it was all but empty, would still do so
 * for each accept and claim of a flood (docs/decisions/0036-steady-estimates.md). Whatever has no index is read as before;
 * PostgreSQL before 18 takes that to be so dear that it would compile each such statement first.
 */
const plansForFullTables = `set_config('enable_seqscan', 'off', false), set_config('jit', 'off', false)`
/** Before which a pooler that was found unusable isn't looked at again. */
const lookAgainAfterMs = 5000

export interface DatabaseOptions {
  poolSize: number
  /** After which a statement fails and its connection, which may hang, is given up. */
  queryTimeoutMs: number
  /** Told of connections that break while nobody uses them; the pool replaces them by itself. */
  onConnectionLost: (error: Error) => void
  /** Called once with the pooler in between, where there is one. */
  onPooler?: (pooler: Pooler) => void
}

/** A pool of connections; none is opened before it is needed, so a process starts while PostgreSQL is away. */
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
  // One that breaks while it is in use fails the statement at work, or the next one. Unheard, it would end the process.
  pool.on('connect', (client) => client.on('error', () => {}))
  return drizzle(pool, { schema })
}

/**
 * Sets them only on a direct connection. A pooler would hand the changed connection to its next client.
 *
 * @returns whether it does. A pooler gives its clients ids of its own.
 */
async function setPlans(client: pg.ClientBase): Promise<boolean> {
  const { processID } = client as unknown as { processID: number }
  const { rowCount } = await client.query(
    `select ${plansForFullTables} where pg_backend_pid() = ${processID}`,
  )
  return rowCount === 1
}

/** So that no statement goes through a pooler that would mix it up with others (pooler.ts). */
function poolerCheck(url: string, { onPooler }: DatabaseOptions): () => Promise<unknown> {
  let checking: Promise<void> | undefined
  const forget = () => {
    checking = undefined
  }
  return () => {
    checking ??= checkPooler(url)
      .then((pooler) => onPooler?.(pooler))
      .catch((error) => {
        if (error instanceof PoolerFault) setTimeout(forget, lookAgainAfterMs).unref()
        else forget()
        throw error
      })
    return checking
  }
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
