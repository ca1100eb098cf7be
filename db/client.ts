import { drizzle, type NodePgDatabase } from 'drizzle-orm/node-postgres'
import pg from 'pg'
import * as schema from './schema.ts'

export type Database = NodePgDatabase<typeof schema> & { $client: pg.Pool }

/** How long to wait for a connection, whether PostgreSQL is gone or hangs. */
const connectTimeoutMs = 1000

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
  })
  pool.on('error', options.onConnectionLost)
  return drizzle(pool, { schema })
}
