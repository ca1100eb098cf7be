import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'drizzle-orm'
import { beforeAll, expect, type TestContext, test } from 'vitest'
import { connectDatabase, inTransaction, type Transaction } from '../../db/connection/client.ts'
import { isConflict, isUnavailable } from '../../db/connection/errors.ts'
import { freshDatabase } from '../support/stores.ts'
import { eventually } from '../support/wait.ts'

let databaseUrl: string
beforeAll(async () => {
  databaseUrl = await freshDatabase()
})

async function connect({ onTestFinished }: TestContext, poolSize: number, queryTimeoutMs = 5000) {
  const db = connectDatabase(databaseUrl, { poolSize, queryTimeoutMs, onConnectionLost: () => {} })
  onTestFinished(() => db.$client.end())
  return db
}

async function pidOf(transaction: Transaction): Promise<unknown> {
  const { rows } = await transaction.execute(sql`select pg_backend_pid() as pid`)
  return rows[0]?.pid
}

test.concurrent('a connection that breaks between two statements of a transaction fails it, and doesn’t end the process', async (context) => {
  const db = await connect(context, 2)
  const broken = inTransaction(db, async (transaction) => {
    await db.execute(sql`select pg_terminate_backend(${await pidOf(transaction)}::int)`)
    await sleep(200)
    await transaction.execute(sql`select 1`)
  })
  const error = await broken.catch((fault: unknown) => fault)
  expect(isUnavailable(error)).toBe(true)
  expect((await db.execute(sql`select 1 as one`)).rows).toEqual([{ one: 1 }])
})

test.concurrent('a connection whose transaction has failed is closed, with the statement that hangs in it', async (context) => {
  const db = await connect(context, 1, 500)
  const pids: unknown[] = []
  const hang = () =>
    inTransaction(db, async (transaction) => {
      pids.push(await pidOf(transaction))
      await transaction.execute(sql`select pg_sleep(3)`)
    })
  // On a slow machine its beginning may take too long as well.
  await eventually('one that hangs', async () => {
    await expect(hang()).rejects.toThrow()
    return pids.length > 0
  })
  pids.push(await eventually('another one', () => inTransaction(db, pidOf).catch(() => false)))
  expect(new Set(pids).size).toBe(2)
})

test.concurrent('a failed transaction is rolled back, a successful one is committed', async (context) => {
  const db = await connect(context, 1)
  await db.execute(sql`create table committed (id int)`)
  const insert = (id: number) =>
    inTransaction(db, (transaction) => transaction.execute(sql`insert into committed values (${id})`))
  await insert(1)
  const failing = inTransaction(db, async (transaction) => {
    await transaction.execute(sql`insert into committed values (2)`)
    throw new Error('no')
  })
  await expect(failing).rejects.toThrow('no')
  expect((await db.execute(sql`select id from committed`)).rows).toEqual([{ id: 1 }])
})

test.concurrent('a transaction that its process leaves idle is aborted soon, and gives its locks back', async (context) => {
  const db = await connect(context, 2)
  await db.execute(sql`create table frozen as select 1 as id`)
  let thaw = () => {}
  const thawed = new Promise<void>((resolve) => {
    thaw = resolve
  })
  let failed: Promise<unknown> = Promise.resolve()
  await new Promise<void>((holdsLock) => {
    const frozen = inTransaction(db, async (transaction) => {
      await transaction.execute(sql`update frozen set id = 2`)
      holdsLock()
      await thawed
      await transaction.execute(sql`select 1`)
    })
    failed = frozen.catch((fault: unknown) => fault)
  })
  await eventually('its lock', () =>
    inTransaction(db, (transaction) => transaction.execute(sql`update frozen set id = 3`)).catch(() => false),
  )
  thaw()
  expect(isUnavailable(await failed)).toBe(true)
  expect((await db.execute(sql`select id from frozen`)).rows).toEqual([{ id: 3 }])
})

test.concurrent('a statement that waits too long for a lock fails with an error that may be retried', async (context) => {
  const db = await connect(context, 2, 20_000)
  await db.execute(sql`create table locked as select 1 as id`)
  const holder = await db.$client.connect()
  await holder.query('begin; update locked set id = 2')
  const waiting = inTransaction(db, (transaction) => transaction.execute(sql`update locked set id = 3`))
  expect(isConflict(await waiting.catch((fault: unknown) => fault))).toBe(true)
  holder.release(true)
})
