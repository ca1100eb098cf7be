import { sql } from 'drizzle-orm'
import { expect, type TestContext, test } from 'vitest'
import { connectDatabase, type Database, inTransaction } from '../../db/connection/client.ts'
import { isUnavailable } from '../../db/connection/errors.ts'
import { freshDatabase } from '../support/stores.ts'
import { startTcpProxy } from '../support/tcp-proxy.ts'

const connections = 5
const queryTimeoutMs = 1000

async function idlePool({ onTestFinished }: TestContext, url: string): Promise<Database> {
  const db = connectDatabase(url, { poolSize: connections, queryTimeoutMs, onConnectionLost: () => {} })
  onTestFinished(() => db.$client.end())
  const clients = await Promise.all(Array.from({ length: connections }, () => db.$client.connect()))
  for (const client of clients) client.release()
  expect(db.$client.idleCount).toBe(connections)
  return db
}

const one = sql`select 1 as one`
const uses: [string, (db: Database) => Promise<unknown>][] = [
  ['a statement', (db) => db.$client.query('select 1 as one')],
  ['a statement of the query builder', (db) => db.execute(one)],
  ['a transaction', (db) => inTransaction(db, (transaction) => transaction.execute(one))],
]

test.concurrent.for(uses)(
  'after %s has timed out, no other idle connection costs a time-out',
  async ([, use], context) => {
    const proxy = await startTcpProxy(await freshDatabase())
    context.onTestFinished(() => proxy.close())
    const db = await idlePool(context, proxy.url)
    expect(proxy.swallowOpen()).toBe(connections)
    const error = await use(db).catch((fault: unknown) => fault)
    expect(isUnavailable(error)).toBe(true)
    expect(await use(db)).toMatchObject({ rows: [{ one: 1 }] })
  },
)

test.concurrent('another fault of a statement closes no other connection', async (context) => {
  const db = await idlePool(context, await freshDatabase())
  await expect(db.$client.query('select from nothing')).rejects.toThrow('nothing')
  expect(db.$client.idleCount).toBe(connections - 1)
})
