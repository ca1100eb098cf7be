import type { EventEmitter } from 'node:events'
import { drizzle, type NodePgDatabase } from 'drizzle-orm/node-postgres'
import pg from 'pg'
import * as schema from '../schema.ts'
import { connectionString } from './connection-string.ts'
import { ReadOnlyFault } from './database-cause.ts'
import { isTimeOut } from './errors.ts'
import { checkPooler, PoolerFault } from './pooler.ts'
import { checkSession, hasSteadyPlans, openSession } from './session.ts'

export type Database = NodePgDatabase<typeof schema> & { $client: pg.Pool }

/** How long to wait for a connection, if PostgreSQL is down or hangs. */
const connectTimeoutMs = 1000

/** An unusable pooler is checked again after this long. */
const checkAgainAfterMs = 5000

export interface DatabaseOptions {
  poolSize: number
  /** A statement that takes longer fails, and its connection, which may hang, is closed. */
  queryTimeoutMs: number
  /** Called when an idle connection breaks. The pool replaces it. */
  onConnectionLost: (error: Error) => void
  /** Refuses connections on which every write would fail, such as those to a standby. */
  needsWrites?: boolean
  /** Called once if a pooler's connection lacks the planner options. */
  onUnsteadyPlans?: () => void
  /** Called with each error that PostgreSQL answers, whichever statement it was. */
  onRefused?: (error: Error) => void
}

/** Creates a connection pool. No connection is opened before it is needed, so that a process can start while PostgreSQL is down. */
export function connectDatabase(url: string, options: DatabaseOptions): Database {
  const allowPooler = poolerCheck(url)
  let { onUnsteadyPlans } = options
  const pool = new pg.Pool({
    connectionString: connectionString(url),
    max: options.poolSize,
    connectionTimeoutMillis: connectTimeoutMs,
    query_timeout: options.queryTimeoutMs,
    keepAlive: true,
    onConnect: async (client) => {
      const session = await openSession(client)
      checkSession(session)
      if (options.needsWrites && session.isReadOnly) throw new ReadOnlyFault()
      if (!session.isDirect) await allowPooler()
      if (hasSteadyPlans(session)) return
      onUnsteadyPlans?.()
      onUnsteadyPlans = undefined
    },
  })
  pool.on('error', options.onConnectionLost)
  // If a connection breaks in use, its current or next statement fails. Without a listener, the error would end the process.
  pool.on('connect', (client) => {
    client.on('error', () => {})
    if (options.onRefused) connectionOf(client).on('errorMessage', options.onRefused)
  })
  pool.on('release', (error) => isTimeOut(error) && closeIdle(pool))
  return drizzle(pool, { schema })
}

/** Events that pg itself listens to; its types leave them out. */
const connectionOf = (client: pg.ClientBase) => (client as unknown as { connection: EventEmitter }).connection

/**
 * Closes the idle connections after a statement has timed out: they may lead to the same dead server, where each would cost
 * another statement its time-out.
 */
function closeIdle(pool: pg.Pool): void {
  for (let idle = pool.idleCount; idle > 0; idle--) pool.connect((_error, _client, close) => close?.(true))
}

/** Creates the check that keeps statements away from a pooler that would mix them up (pooler.ts). */
function poolerCheck(url: string): () => Promise<void> {
  let checking: Promise<void> | undefined
  const forget = () => {
    checking = undefined
  }
  return () => {
    checking ??= checkPooler(url).catch((error) => {
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

/**
 * Runs work in a transaction. If it fails, the connection, which may hang, is closed.
 *
 * @param db if it is a transaction, the work becomes a part of it.
 */
export async function inTransaction<Result>(
  db: Database | Transaction,
  work: (transaction: Transaction) => Promise<Result>,
): Promise<Result> {
  if (!(db.$client instanceof pg.Pool)) return await work(db as Transaction)
  return await between(db.$client, `begin; ${givesUpLocks}`, work, 'commit')
}

/** A look at what would be: others must not wait for long for what it locks. */
const givesUpLooking = `set local idle_in_transaction_session_timeout = ${givesUpAfterMs}; set local lock_timeout = '500ms'`

/** Runs work in a transaction, and undoes it: what it writes is seen by its own statements alone, and leaves nothing. */
export const undone = <Result>(
  { $client }: Database,
  work: (transaction: Transaction) => Promise<Result>,
): Promise<Result> => between($client, `begin; ${givesUpLooking}`, work, 'rollback')

async function between<Result>(
  pool: pg.Pool,
  begin: string,
  work: (transaction: Transaction) => Promise<Result>,
  end: 'commit' | 'rollback',
): Promise<Result> {
  const client = await pool.connect()
  try {
    await client.query(begin)
    const result = await work(drizzle(client))
    await client.query(end)
    client.release()
    return result
  } catch (error) {
    client.release(error as Error)
    throw error
  }
}
