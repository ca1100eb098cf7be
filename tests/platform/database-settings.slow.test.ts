import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { expect, type TestContext, test } from 'vitest'
import { connectDatabase } from '../../db/connection/client.ts'
import { connectionFault } from '../../db/connection/database-cause.ts'
import { isUnavailable } from '../../db/connection/errors.ts'
import { migrateDatabase } from '../../db/migrate.ts'
import { retentionTrims } from '../../db/upkeep/retention.ts'
import { accept, buildAccount, post, request, textBody } from '../support/builders.ts'
import { finishedTimeline, startTestService } from '../support/service.ts'
import { spanBetween, unlessStoodStill } from '../support/standstill.ts'
import { freshDatabase, freshStores } from '../support/stores.ts'
import { eventually } from '../support/wait.ts'

async function query(url: string, ...statements: string[]): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    for (const statement of statements.slice(0, -1)) await client.query(statement)
    return (await client.query(statements.at(-1) ?? '')).rows
  } finally {
    await client.end()
  }
}

const nameOf = (url: string) => new URL(url).pathname.slice(1)

/** A database that has only what `create database` gives it, and its options. */
async function emptyDatabase(options = ''): Promise<string> {
  const url = await freshDatabase()
  const name = nameOf(url)
  const maintenance = new URL(url)
  maintenance.pathname = '/template1'
  await query(maintenance.href, `drop database ${name}`, `create database ${name} ${options}`)
  return url
}

const odd: Record<string, string> = {
  datestyle: "'German, DMY'",
  intervalstyle: "'iso_8601'",
  timezone: "'Australia/Eucla'",
  extra_float_digits: '-15',
  bytea_output: "'escape'",
  standard_conforming_strings: 'off',
  default_transaction_isolation: "'serializable'",
  enable_seqscan: 'on',
}

test.each(Object.keys(odd))(
  'whatever %s the database has, sends are accepted, sent, listed and removed',
  async (name) => {
    const stores = await freshStores()
    await query(stores.databaseUrl, `alter database ${nameOf(stores.databaseUrl)} set ${name} = ${odd[name]}`)
    const service = await startTestService({}, stores)
    const begun = performance.now()
    try {
      await service.startWorker()
      const account = await buildAccount(service)
      const ids = await Promise.all(Array.from({ length: 10 }, () => accept(service, account, textBody())))
      for (const id of ids) await finishedTimeline(service, id, account.apiKey)
      const headers = { Authorization: `Bearer ${account.apiKey}` }
      const list = await request(service, `/v1/messages?limit=20`, { headers })
      expect([list.status, (await request(service, '/readyz')).status]).toEqual([200, 200])
      const timeline = await finishedTimeline(service, ids[0] ?? '', account.apiKey)
      for (const at of [timeline.acceptedAt, timeline.finishedAt])
        expect(Math.abs(Date.now() - Date.parse(String(at)))).toBeLessThan(60_000)
      const trims = retentionTrims({
        days: 90,
        mediaHours: 24,
        callbackDays: 7,
        auditDays: 365,
        usageMonths: 25,
      })
      for (const trim of Object.values(trims)) await trim(service.runtime.db, 10)
      unlessStoodStill(spanBetween(begun, performance.now()), () =>
        expect(service.logs.filter(({ level }) => level !== 'info')).toEqual([]),
      )
    } finally {
      await service.stop()
    }
  },
)

/** The fault of the first connection, as a process says it at its start. */
async function faultOf(url: string, { onTestFinished }: TestContext): Promise<string | undefined> {
  const db = connectDatabase(url, { poolSize: 1, queryTimeoutMs: 5000, onConnectionLost: () => {} })
  onTestFinished(() => db.$client.end())
  const error = await db.$client.query('select 1').catch((fault: unknown) => fault)
  expect(isUnavailable(error)).toBe(true)
  return connectionFault(error)
}

const unfit: [string, () => Promise<string>, RegExp][] = [
  [
    'in LATIN1',
    () => emptyDatabase(`encoding 'LATIN1' locale 'C' template template0`),
    /encoding is LATIN1.*'UTF8'/,
  ],
  [
    'in SQL_ASCII',
    () => emptyDatabase(`encoding 'SQL_ASCII' locale 'C' template template0`),
    /encoding is SQL_ASCII.*'UTF8'/,
  ],
  [
    'whose search_path leads to another schema',
    async () => {
      const url = await emptyDatabase()
      await query(url, 'create schema other', `alter database ${nameOf(url)} set search_path = other, public`)
      return url
    },
    /schema public.*leads to other.*search_path|search_path leads to other/,
  ],
  [
    'whose URL has another schema',
    async () => {
      const url = new URL(await emptyDatabase())
      await query(url.href, 'create schema other')
      url.searchParams.set('options', '-c search_path=other')
      return url.href
    },
    /search_path leads to other/,
  ],
  [
    'without a schema in its search_path',
    async () => {
      const url = await emptyDatabase()
      await query(url, `alter database ${nameOf(url)} set search_path = nowhere`)
      return url
    },
    /search_path leads to none/,
  ],
]

test.each(unfit)(
  'a database %s is refused by migrate and at the start, in one line',
  async (_, create, reason) => {
    const url = await create()
    const context = { onTestFinished: (end: () => Promise<void>) => ends.push(end) } as unknown as TestContext
    const ends: (() => Promise<void>)[] = []
    const migrating = await migrateDatabase(url).catch((fault: unknown) => fault)
    for (const fault of [connectionFault(migrating), await faultOf(url, context)]) {
      expect(fault).toMatch(reason)
      expect(fault).not.toContain('\n')
    }
    expect(await query(url, `select from pg_namespace where nspname = 'drizzle'`)).toEqual([])
    for (const end of ends) await end()
  },
)

test('a database whose search_path also has another schema, that is missing, works', async () => {
  const url = await emptyDatabase()
  await query(url, `alter database ${nameOf(url)} set search_path = "$user", public`)
  await migrateDatabase(url)
  expect(await query(url, 'select from sends')).toEqual([])
})

/** A role without any privilege on the database but to connect. It owns the schema public, and its migrations' one if wanted. */
async function poorRole(hasSchema: boolean) {
  const url = new URL(await emptyDatabase())
  const role = `role_${nameOf(url.href)}`
  await query(
    url.href,
    `create role ${role} login`,
    `revoke all on database ${nameOf(url.href)} from public`,
    `grant connect on database ${nameOf(url.href)} to ${role}`,
    `alter schema public owner to ${role}`,
    ...(hasSchema ? [`create schema drizzle authorization ${role}`] : []),
  )
  const own = new URL(url)
  own.username = role
  return { admin: url.href, url: own.href, role }
}

test('a role without CREATE on the database migrates where the schema drizzle is its own', async () => {
  const { url } = await poorRole(true)
  await Promise.all([migrateDatabase(url), migrateDatabase(url)])
  await migrateDatabase(url)
  expect(await query(url, 'select from sends')).toEqual([])
})

test('a role without CREATE on the database can’t migrate without the schema drizzle, and is told what it needs', async () => {
  const { url } = await poorRole(false)
  const fault = connectionFault(await migrateDatabase(url).catch((error: unknown) => error))
  expect(fault).toMatch(
    /^DATABASE_URL: its role may not migrate \(permission denied for database .*\); .*schema drizzle/,
  )
  expect(fault).not.toContain('\n')
})

test('after migrations of another role, one without privileges on their list is ready', async () => {
  const { admin, url, role } = await poorRole(false)
  await migrateDatabase(admin)
  await query(admin, `grant all on all tables in schema public to ${role}`)
  const service = await startTestService({}, { ...(await freshStores()), databaseUrl: url })
  try {
    expect((await request(service, '/readyz')).status).toBe(200)
  } finally {
    await service.stop()
  }
})

test('a statement_timeout and a lock_timeout of the database end no statement of the service', async ({
  onTestFinished,
}) => {
  const url = await freshDatabase()
  const name = nameOf(url)
  await query(
    url,
    `alter database ${name} set statement_timeout = 1000`,
    `alter database ${name} set lock_timeout = 1000`,
  )
  const db = connectDatabase(url, { poolSize: 2, queryTimeoutMs: 10_000, onConnectionLost: () => {} })
  onTestFinished(() => db.$client.end())
  const lock = 'select pg_advisory_xact_lock(1)'
  const holding = db.$client.query(`begin; ${lock}; select pg_sleep(1.5); commit`)
  await Promise.all([holding, db.$client.query(lock)])
})

test('a statement_timeout and a lock_timeout of the database end no migration that waits for another', async () => {
  const url = await emptyDatabase()
  const name = nameOf(url)
  await query(
    url,
    `alter database ${name} set statement_timeout = 1000`,
    `alter database ${name} set lock_timeout = 1000`,
  )
  const holder = new pg.Client({ connectionString: url })
  await holder.connect()
  const migrating = async () => {
    await sleep(200)
    await migrateDatabase(url)
  }
  const held = holder.query(
    `set statement_timeout = 0; begin; select pg_advisory_xact_lock(7091500211); select pg_sleep(2); commit`,
  )
  await Promise.all([held, migrating()])
  await holder.end()
  expect(await query(url, 'select from sends')).toEqual([])
})

test.each([
  ['without any migration', 'drop schema drizzle cascade'],
  [
    'without the latest migration',
    'delete from drizzle.__drizzle_migrations where id = (select max(id) from drizzle.__drizzle_migrations)',
  ],
])('a process on a database %s isn’t ready, says so once, and is ready after migrate', async (_, remove) => {
  const stores = await freshStores()
  const removed = await query(stores.databaseUrl, 'select * from drizzle.__drizzle_migrations order by id')
  await query(stores.databaseUrl, remove)
  const service = await startTestService({}, stores)
  try {
    const ready = async () => (await request(service, '/readyz')).status
    expect([await ready(), await ready(), await ready()]).toEqual([503, 503, 503])
    const lines = service.logs.filter(({ event }) => event === 'not_migrated')
    expect(lines).toEqual([
      expect.objectContaining({ level: 'error', reason: expect.stringMatching(/run migrate$/) }),
    ])
    const latest = removed.at(-1)
    await query(
      stores.databaseUrl,
      'create schema if not exists drizzle',
      'create table if not exists drizzle.__drizzle_migrations (id serial primary key, hash text not null, created_at bigint)',
      `insert into drizzle.__drizzle_migrations (hash, created_at) values ('x', ${latest?.created_at})`,
    )
    expect(await ready()).toBe(200)
    const account = await buildAccount(service)
    expect((await post(service, account, textBody())).status).toBe(202)
  } finally {
    await service.stop()
  }
})

test('a worker on a database without migrations says so once, not once for each of its tasks', async () => {
  const stores = await freshStores()
  await query(
    stores.databaseUrl,
    'drop schema drizzle cascade',
    'drop schema public cascade',
    'create schema public',
  )
  const service = await startTestService({}, stores)
  try {
    // It is ready only on a migrated database.
    void service.startWorker().catch(() => {})
    const ofMigrations = () =>
      service.logs.filter(
        ({ event, reason = '' }) => event === 'not_migrated' || /does not exist/.test(String(reason)),
      )
    await eventually('the line', async () => ofMigrations().length > 0)
    await sleep(3000)
    expect(ofMigrations()).toEqual([expect.objectContaining({ event: 'not_migrated' })])
  } finally {
    await service.stop()
  }
})
