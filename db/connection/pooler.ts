import pg from 'pg'
import { connectionString } from './connection-string.ts'
import { mixedUpCodes } from './database-cause.ts'
import { DatabaseFault } from './session.ts'

/** A pooler would mix up the prepared statements of different processes. */
export class PoolerFault extends DatabaseFault {
  constructor() {
    super(
      'DATABASE_URL: a pooler in transaction mode without support for prepared statements; with PgBouncer 1.21 or later set max_prepared_statements = 200 there, else set pool_mode = session',
    )
  }
}

const timeoutMs = 3000
const checks = 3
const checkName = 'outbound_pooler_check'

/**
 * Checks how a pooler treats its clients. It needs two connections, to see whether they share connections to PostgreSQL.
 *
 * @throws PoolerFault if a prepared statement would fail, or be another client's of the same name.
 */
export async function checkPooler(url: string): Promise<void> {
  const [one, other] = [connection(url), connection(url)]
  try {
    await Promise.all([one.connect(), other.connect()])
    if ((await shareConnections(one, other)) && !(await keepsStatements(one))) throw new PoolerFault()
  } finally {
    await Promise.all([one.end(), other.end()])
  }
}

function connection(url: string): pg.Client {
  const client = new pg.Client({
    connectionString: connectionString(url),
    connectionTimeoutMillis: timeoutMs,
    query_timeout: timeoutMs,
  })
  // The current statement fails with the error. Without a listener, the error would end the process.
  client.on('error', () => {})
  return client
}

/**
 * Asks in the order one, other, other, one. A pooler in transaction mode gives the next client either the connection that has
 * just become free, or the one that has been idle longest. In the second case, alternating queries would hide the sharing.
 */
async function shareConnections(one: pg.Client, other: pg.Client): Promise<boolean> {
  const seen = { one: await backendOf(one), other: await backendOf(other) }
  for (let check = 0; check < checks; check++) {
    const [ofOther, ofOne] = [await backendOf(other), await backendOf(one)]
    if (ofOne === ofOther || ofOne !== seen.one || ofOther !== seen.other) return true
  }
  return false
}

async function backendOf(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
  return rows[0]?.pid ?? 0
}

/** A pooler that supports prepared statements renames them, so that PostgreSQL doesn't know our name. */
async function keepsStatements(client: pg.Client): Promise<boolean> {
  const text = `select exists (select from pg_prepared_statements where name = '${checkName}') as "isOurs"`
  try {
    const { rows } = await client.query<{ isOurs: boolean }>({ name: checkName, text })
    return rows[0]?.isOurs === false
  } catch (error) {
    if (error instanceof pg.DatabaseError && mixedUpCodes.includes(error.code ?? '')) return false
    throw error
  }
}
