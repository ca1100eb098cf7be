import pg from 'pg'
import { afterEach, describe, expect, test } from 'vitest'
import { connectDatabase } from '../../../db/connection/client.ts'
import { isUnavailable } from '../../../db/connection/errors.ts'
import { checkPooler, PoolerFault } from '../../../db/connection/pooler.ts'
import { migrateDatabase } from '../../../db/migrate.ts'
import { argumentsOf } from '../../../src/dev/service-process.ts'
import { accept, buildAccount, post, textBody } from '../../support/builders.ts'
import { startCommand } from '../../support/command.ts'
import { type Pgbouncer, startPgbouncer } from '../../support/pgbouncer.ts'
import { isMissing, keepsStatements, newPgbouncer, ownPgbouncer } from '../../support/pgbouncer-binary.ts'
import { finishedTimeline, startTestService, type TestService, testSecrets } from '../../support/service.ts'
import { spanBetween, unlessStoodStill } from '../../support/standstill.ts'
import { freshStores, type Stores } from '../../support/stores.ts'
import { startTcpProxy } from '../../support/tcp-proxy.ts'
import { eventually } from '../../support/wait.ts'

const firstOne = ownPgbouncer()
/** PgBouncer with the settings with which it keeps no prepared statements. */
const unfit = { ...(keepsStatements(await firstOne) && { max_prepared_statements: '0' }) }
/** Undefined where neither this machine's release nor its mirror has a newer one. */
const newer = await newPgbouncer().catch((error) => {
  if (!isMissing(error)) throw error
  console.warn(
    `skipped: all tests of max_prepared_statements, for want of a PgBouncer that has it (${error.message})`,
  )
  return undefined
})

const ends: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

async function pooled(
  stores: Stores,
  settings: Record<string, string>,
  binary = firstOne,
): Promise<Pgbouncer> {
  const pgbouncer = await startPgbouncer(await binary, stores.databaseUrl, settings)
  ends.push(pgbouncer.stop)
  return pgbouncer
}

async function serve(stores: Stores, { url }: Pgbouncer): Promise<TestService> {
  const service = await startTestService({ DATABASE_URL: url }, stores)
  ends.push(service.stop)
  return service
}

async function setForRole({ databaseUrl }: Stores, name: string): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  const database = new URL(databaseUrl).pathname.slice(1)
  await client.query(`alter role current_user in database ${database} set ${name} = off`)
  await client.end()
}

async function start(entry: string, { redisUrl }: Stores, { url }: { url: string }) {
  const own = { ...testSecrets, DATABASE_URL: url, REDIS_URL: redisUrl, PORT: '0', METRICS_PORT: '0' }
  const env = { ...process.env, ...own, ADMIN_PORT: '0' }
  const command = startCommand(['node', ...argumentsOf(entry)], { env, terminal: false })
  ends.push(async () => command.kill())
  const { code } = await command.ended()
  return { code, output: command.output() }
}

const refused = /^DATABASE_URL: .*PgBouncer 1\.21.*max_prepared_statements = 200.*pool_mode = session$/

describe('in transaction mode, without prepared statements', () => {
  test.each(['src/server.ts', 'workers/main.ts', 'src/admin/main.ts'])(
    '%s does not start, and says in one line what to set',
    async (entry) => {
      const stores = await freshStores()
      const { code, output } = await start(entry, stores, await pooled(stores, unfit))
      expect(code).toBe(1)
      expect(output.split('\n').filter((line) => !line.startsWith('{'))).toEqual([
        expect.stringMatching(refused),
      ])
    },
  )

  test('a process with a latency of 300 ms does not start either', async () => {
    const stores = await freshStores()
    const proxy = await startTcpProxy((await pooled(stores, unfit)).url)
    ends.push(proxy.close)
    proxy.delay(150)
    const { code, output } = await start('workers/main.ts', stores, proxy)
    expect(code).toBe(1)
    expect(output).toMatch(new RegExp(refused, 'm'))
  })

  test('this is detected also if PgBouncer hands out the connection that has been idle longest', async () => {
    const { url } = await pooled(await freshStores(), { ...unfit, server_round_robin: '1' })
    const clients = [1, 2].map(() => new pg.Client({ connectionString: url }))
    // Together, so that it opens two.
    for (const client of clients) await client.connect().then(() => client.query('begin'))
    for (const client of clients) await client.query('commit').then(() => client.end())
    await expect(checkPooler(url)).rejects.toThrow(PoolerFault)
  })

  test('an API that is switched to it later answers 503, never 500, and records nothing', async () => {
    const stores = await freshStores()
    const direct = await startTestService({}, stores)
    ends.push(direct.stop)
    const account = await buildAccount(direct)
    const service = await serve(stores, await pooled(stores, unfit))
    const answers = await Promise.all(Array.from({ length: 20 }, () => post(service, account, textBody())))
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([503]))
    const { rows } = await direct.runtime.db.$client.query('select from sends')
    expect(rows).toEqual([])
  })
})

test('a statement that a pooler has mixed up counts as PostgreSQL being unavailable, not as an internal error', async () => {
  const { databaseUrl } = await freshStores()
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  ends.push(() => client.end())
  await client.query('prepare taken as select 1')
  for (const statement of ['execute missing', 'prepare taken as select 1'])
    expect(await client.query(statement).catch(isUnavailable)).toBe(true)
})

test('a check that failed for another reason is repeated for the next connection', async () => {
  const { url } = await pooled(await freshStores(), { pool_mode: 'session', max_client_conn: '3' })
  const other = new pg.Client({ connectionString: url })
  await other.connect()
  const db = connectDatabase(url, { poolSize: 1, queryTimeoutMs: 5000, onConnectionLost: () => {} })
  ends.push(() => db.$client.end())
  const faultOf = () => db.$client.query('select 1').catch((error: unknown) => error)
  const first = await faultOf()
  expect(first).toBeInstanceOf(Error)
  expect(await faultOf()).not.toBe(first)
  await other.end()
  await eventually('a connection', async () => !((await faultOf()) instanceof Error))
})

test('settings of the database that a pooler keeps are refused by their names, until migrate has set them for its role', async () => {
  const stores = await freshStores()
  const database = new URL(stores.databaseUrl).pathname.slice(1)
  const client = new pg.Client({ connectionString: stores.databaseUrl })
  await client.connect()
  ends.push(() => client.end())
  for (const setting of [`datestyle = 'German, DMY'`, `default_transaction_isolation = 'serializable'`])
    await client.query(`alter database ${database} set ${setting}`)
  const firstQuery = async () => {
    const { url } = await pooled(stores, { pool_mode: 'session' })
    const db = connectDatabase(url, { poolSize: 1, queryTimeoutMs: 5000, onConnectionLost: () => {} })
    ends.push(() => db.$client.end())
    return db.$client.query(`select '2026-11-25T12:00:00Z'::timestamptz as at`)
  }
  await expect(firstQuery()).rejects.toThrow(
    /^DATABASE_URL: .*datestyle is German, DMY: run migrate .*RECONNECT/,
  )
  await migrateDatabase(stores.databaseUrl)
  expect((await firstQuery()).rows).toEqual([{ at: new Date('2026-11-25T12:00:00Z') }])
})

test('in session mode sends are accepted and sent, with any PgBouncer', async () => {
  const stores = await freshStores()
  const service = await serve(stores, await pooled(stores, { pool_mode: 'session', default_pool_size: '20' }))
  await service.startWorker()
  const account = await buildAccount(service)
  const requestId = await accept(service, account, textBody())
  expect(await finishedTimeline(service, requestId, account.apiKey)).toMatchObject({ status: 'sent' })
})

describe.skipIf(newer === undefined)('in transaction mode, with max_prepared_statements', () => {
  const [sends, clients] = [5000, 20]
  const keeping = (stores: Stores) =>
    pooled(stores, { max_prepared_statements: '200' }, Promise.resolve(newer ?? firstOne))

  test('5,000 sends are all accepted and sent, none is a 500, and each statement has its intended plan', async () => {
    const begun = performance.now()
    const stores = await freshStores()
    await migrateDatabase(stores.databaseUrl)
    const service = await serve(stores, await keeping(stores))
    await service.startWorker('one')
    await service.startWorker('other')
    const account = await buildAccount(service)
    const client = async () => {
      for (let i = 0; i < sends / clients; i++) await accept(service, account, textBody())
    }
    await Promise.all(Array.from({ length: clients }, client))
    await eventually('all sent', async () => {
      const { rows } = await service.runtime.db.$client.query(
        'select status, count(*)::int from sends group by status',
      )
      return rows.length === 1 && rows[0].status === 'sent' && rows[0].count === sends
    })
    const faults = service.logs.filter(({ level }) => level !== 'info')
    unlessStoodStill(spanBetween(begun, performance.now()), () => expect(faults).toEqual([]))
    const looks = await Promise.all(
      Array.from({ length: 50 }, () => service.api.db.$client.query('show enable_seqscan')),
    )
    expect(new Set(looks.map(({ rows }) => rows[0].enable_seqscan))).toEqual(new Set(['off']))
  })

  test('migrations run through it, and leave no lock behind', async () => {
    const stores = await freshStores()
    const { url } = await keeping(stores)
    await Promise.all([migrateDatabase(url), migrateDatabase(url)])
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    ends.push(() => client.end())
    const { rows } = await client.query(
      `select from pg_locks where locktype = 'advisory' and database = (select oid from pg_database where datname = current_database())`,
    )
    expect(rows).toEqual([])
  })

  test.each([
    { lacks: 'planner settings', set: [] },
    { lacks: 'one of the planner settings', set: ['enable_seqscan'] },
  ])('a process whose role lacks $lacks logs that, once', async ({ set }) => {
    const stores = await freshStores()
    for (const name of set) await setForRole(stores, name)
    const service = await serve(stores, await keeping(stores))
    await Promise.all(Array.from({ length: 20 }, () => service.api.db.$client.query('select 1')))
    const lines = service.logs.filter(({ event }) => event === 'plans_not_steady')
    expect(lines).toEqual([expect.objectContaining({ reason: expect.stringContaining('run migrate') })])
  })
})
