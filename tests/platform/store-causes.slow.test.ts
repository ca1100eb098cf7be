import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:tls'
import { Redis } from 'ioredis'
import pg from 'pg'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { type Reaper, startReaper } from '../../src/dev/embedded/index.ts'
import { Readiness } from '../../src/platform/health/readiness.ts'
import { scrape } from '../../src/platform/health/scrape.ts'
import { startTestAdmin } from '../support/admin.ts'
import { type BreakableServers, startBreakableServers } from '../support/breakable-servers.ts'
import { type Account, buildAccount, post, request, textBody } from '../support/builders.ts'
import { cert, expiredCert, futureCert, key } from '../support/certificate.ts'
import { runCliWith } from '../support/cli.ts'
import { getPage, textOf } from '../support/pages.ts'
import { startTestService, type TestService } from '../support/service.ts'
import { freshDatabase, freshStores } from '../support/stores.ts'
import { closedPort, startSilentServer, startTcpProxy } from '../support/tcp-proxy.ts'
import { startTlsPostgres } from '../support/tls-postgres.ts'
import { eventually } from '../support/wait.ts'

let healthy: TestService
let account: Account
let reaper: Reaper
let servers: BreakableServers

beforeAll(async () => {
  healthy = await startTestService({}, await freshStores())
  account = await buildAccount(healthy)
  reaper = startReaper()
  servers = await startBreakableServers(reaper)
})
afterAll(async () => {
  await healthy?.stop()
  await servers?.stop()
  await reaper?.close()
})

async function query(url: string, ...statements: string[]): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  for (const statement of statements) await client.query(statement)
  await client.end()
}

/** The URL with another user, who may log in, and with these words behind `create role`. */
async function asRole(url: string, options = ''): Promise<string> {
  const role = `role_${new URL(url).pathname.slice(1)}`
  await query(url, `create role ${role} login ${options}`)
  return Object.assign(new URL(url), { username: role }).href
}

async function changed(change: (name: string) => string[]): Promise<string> {
  const url = await freshDatabase()
  await query(url, ...change(new URL(url).pathname.slice(1)))
  return url
}

async function tls(certificate: string, host?: string, trusts = true): Promise<string> {
  const server = await startTlsPostgres(certificate, host)
  onTestFinished(() => void server.close())
  return trusts ? server.url : server.untrustingUrl
}

const emptyDatabase = async () =>
  await changed(() => ['drop schema public cascade', 'drop schema drizzle cascade', 'create schema public'])

const modes: [cause: string, words: RegExp, url: () => Promise<string>][] = [
  [
    'unreachable',
    /^PostgreSQL does not answer; check DATABASE_URL/,
    async () => `postgres://postgres@127.0.0.1:${await closedPort()}/none`,
  ],
  [
    'unknown_host',
    /^PostgreSQL's host name can't be resolved; check the host/,
    async () => 'postgres://postgres@nowhere.invalid/none',
  ],
  [
    'timeout',
    /^PostgreSQL does not answer in time; look at its load/,
    async () => {
      const silent = await startSilentServer()
      onTestFinished(() => silent.close())
      return `postgres://postgres@127.0.0.1:${silent.port}/none`
    },
  ],
  [
    'no_database',
    /^PostgreSQL has no database of this name; create it/,
    async () => Object.assign(new URL(await freshDatabase()), { pathname: '/absent' }).href,
  ],
  [
    'login_refused',
    /^PostgreSQL refuses the login; check user name and password/,
    async () => Object.assign(new URL(await freshDatabase()), { username: 'nobody' }).href,
  ],
  [
    'too_many_connections',
    /^PostgreSQL has no connection left; raise max_connections/,
    async () => await asRole(await freshDatabase(), 'connection limit 0'),
  ],
  [
    'no_permission',
    /^PostgreSQL denies a permission .*; grant it/,
    async () => await asRole(await freshDatabase()),
  ],
  ['not_migrated', /^PostgreSQL lacks migrations of this release; run migrate/, emptyDatabase],
  [
    'certificate_untrusted',
    /certificate is signed by an unknown CA.*; add sslrootcert/,
    () => tls(cert, undefined, false),
  ],
  [
    'certificate_of_other_host',
    /certificate is for another host name.*; use the name/,
    () => tls(cert, '127.0.0.1'),
  ],
  ['certificate_expired', /certificate has expired.*; renew it/, () => tls(expiredCert)],
  [
    'certificate_not_yet_valid',
    /certificate is not valid yet.*; set this machine's clock right/,
    () => tls(futureCert),
  ],
]

test.each(modes)(
  'PostgreSQL, %s: each surface names that cause and what to do',
  async (cause, words, urlOf) => {
    const DATABASE_URL = await urlOf()
    const service = await startTestService({ DATABASE_URL })
    onTestFinished(() => service.stop())
    const line = (text: unknown) => expect(String(text).replace(/^DATABASE_URL: /, ''), cause).toMatch(words)

    const ready = await request(service, '/readyz')
    expect(ready.status).toBe(503)
    line(ready.body.message)
    expect(service.logs).toContainEqual(expect.objectContaining({ event: 'not_ready', cause }))

    expect((await post(service, account, textBody())).status).toBe(503)
    expect(service.logs).toContainEqual(expect.objectContaining({ event: 'unavailable', cause }))

    const cli = await runCliWith(healthy, { DATABASE_URL }, 'account', 'list')
    expect(cli.status).not.toBe(0)
    expect(cli.stderr.trim()).not.toContain('\n')
    line(cli.stderr)

    const admin = await startTestAdmin(healthy, { DATABASE_URL })
    onTestFinished(() => admin.stop())
    const page = await fetch(`${admin.url}/sends`)
    expect(page.status).toBe(503)
    expect(textOf(await page.text())).toMatch(new RegExp(words.source.replace(/^\^/, '')))

    const { text } = await scrape(service.api, new Readiness(service.api))
    expect(text).toContain('\noutbound_ready 0\n')
    expect(text).toContain('\noutbound_database_usable 0\n')
    expect(text).toContain(`\noutbound_database_fault{cause="${cause}"} 1\n`)
  },
)

test('PostgreSQL that is slow: each surface names that cause and what to do, and it passes by itself', async () => {
  const stores = await freshStores()
  const proxy = await startTcpProxy(stores.databaseUrl)
  onTestFinished(() => proxy.close())
  const service = await startTestService({}, { ...stores, databaseUrl: proxy.url })
  onTestFinished(() => service.stop())
  const account = await buildAccount(service)
  const admin = await startTestAdmin(service)
  onTestFinished(() => admin.stop())
  const words = /PostgreSQL does not answer in time; look at its load/
  // Forth and back it is longer than health checks and requests wait for an answer.
  proxy.delay(600)
  await eventually('/readyz names it', async () =>
    words.test(String((await request(service, '/readyz')).body.message)),
  )
  expect(service.logs).toContainEqual(expect.objectContaining({ event: 'not_ready', cause: 'timeout' }))
  expect((await post(service, account, textBody())).status).toBe(503)
  expect(service.logs).toContainEqual(expect.objectContaining({ event: 'unavailable', cause: 'timeout' }))
  const { text } = await scrape(service.api, new Readiness(service.api))
  expect(text).toContain('outbound_database_fault{cause="timeout"} 1')
  await eventually('a page names it', async () => words.test((await getPage(`${admin.url}/channels`)).text))

  proxy.delay(0)
  await eventually('it is ready again', async () => (await request(service, '/readyz')).status === 200)
})

test('PostgreSQL turned read-only: each surface says so, pages can still be read, and it passes by itself', async () => {
  const stores = await freshStores()
  const service = await startTestService({}, stores)
  onTestFinished(() => service.stop())
  const account = await buildAccount(service)
  const admin = await startTestAdmin(service)
  onTestFinished(() => admin.stop())
  const words = /PostgreSQL takes no writes.*let DATABASE_URL lead to the primary/
  const turn = async (value: 'on' | 'off') => {
    const name = new URL(stores.databaseUrl).pathname.slice(1)
    const others = `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`
    await query(
      stores.databaseUrl,
      'set default_transaction_read_only = off',
      `alter database ${name} set default_transaction_read_only = ${value}`,
      others,
    )
  }
  await turn('on')
  await eventually('it is seen', async () => (await request(service, '/readyz')).status === 503)
  await eventually('it is named', async () =>
    words.test(String((await request(service, '/readyz')).body.message)),
  )
  expect((await post(service, account, textBody())).status).toBe(503)
  expect(service.logs).toContainEqual(expect.objectContaining({ event: 'unavailable', cause: 'read_only' }))
  const cli = await runCliWith(service, {}, 'account', 'create', '--name', 'Acme')
  expect(cli).toMatchObject({ status: 5, stderr: expect.stringMatching(words) })
  const page = await getPage(`${admin.url}/sends`)
  expect(page.status).toBe(200)
  expect(page.text).toMatch(words)
  const { text } = await scrape(service.api, new Readiness(service.api))
  expect(text).toContain('outbound_database_fault{cause="read_only"} 1')

  await turn('off')
  await eventually('it is ready again', async () => (await request(service, '/readyz')).status === 200)
})

test('a disk of PostgreSQL that is full is named by the CLI, the log, the metrics and /readyz, after a write failed', async () => {
  const stores = await freshStores()
  const service = await startTestService({}, stores)
  onTestFinished(() => service.stop())
  const account = await buildAccount(service)
  const triggers = ['sends', 'accounts'].map(
    (table) => `create trigger full_disk before insert on ${table} execute function full_disk()`,
  )
  await query(
    stores.databaseUrl,
    `create function full_disk() returns trigger language plpgsql as $$
     begin raise exception 'could not extend file' using errcode = '53100'; end $$`,
    ...triggers,
  )
  expect((await request(service, '/readyz')).status).toBe(200)
  expect((await post(service, account, textBody())).status).toBe(503)
  expect(service.logs).toContainEqual(
    expect.objectContaining({
      event: 'unavailable',
      cause: 'disk_full',
      check: expect.stringContaining('free space'),
    }),
  )
  const words = /PostgreSQL's disk is full; free space/
  expect(await request(service, '/readyz')).toMatchObject({
    status: 503,
    body: { message: expect.stringMatching(words) },
  })
  const { text } = await scrape(service.api, new Readiness(service.api))
  expect(text).toContain('outbound_database_fault{cause="disk_full"} 1')
  const cli = await runCliWith(service, {}, 'account', 'create', '--name', 'Acme')
  expect(cli).toMatchObject({ status: 5, stderr: expect.stringMatching(words) })
})

const redisModes: [cause: string, words: RegExp, url: () => Promise<string>][] = [
  [
    'unreachable',
    /Redis does not answer; check REDIS_URL/,
    async () => `redis://127.0.0.1:${await closedPort()}`,
  ],
  ['unknown_host', /Redis's host name can't be resolved/, async () => 'redis://nowhere.invalid'],
  [
    'certificate_untrusted',
    /Redis's certificate is signed by an unknown CA; set NODE_EXTRA_CA_CERTS/,
    async () => {
      const server = createServer({ key, cert }).listen(0, '0.0.0.0')
      server.on('tlsClientError', () => {})
      onTestFinished(() => void server.close())
      await once(server, 'listening')
      return `rediss://0.0.0.0:${(server.address() as AddressInfo).port}`
    },
  ],
  [
    'login_refused',
    /Redis refuses the login; check REDIS_URL: its user name and password/,
    async () => servers.redisUrl.replace('redis://', 'redis://nobody:wrong@'),
  ],
  [
    'no_database',
    /Redis refuses its database/,
    async () => Object.assign(new URL(servers.redisUrl), { pathname: '/99999' }).href,
  ],
  [
    'read_only',
    /Redis takes no writes: this is a replica; let REDIS_URL lead to the master/,
    () => told(['REPLICAOF', '127.0.0.1', '1'], ['REPLICAOF', 'NO', 'ONE']),
  ],
  [
    'out_of_memory',
    /Redis takes no writes: its memory is full; raise maxmemory/,
    () => told(['CONFIG', 'SET', 'maxmemory', '1'], ['CONFIG', 'SET', 'maxmemory', '0']),
  ],
  [
    'too_few_replicas',
    /Redis takes no writes: too few replicas/,
    () =>
      told(['CONFIG', 'SET', 'min-replicas-to-write', '1'], ['CONFIG', 'SET', 'min-replicas-to-write', '0']),
  ],
  [
    'no_permission',
    /Redis denies a permission; check the rights/,
    async () => {
      await told(
        ['ACL', 'SETUSER', 'reader', 'on', '>p', '~*', '+@read', '+info', '+ping'],
        ['ACL', 'DELUSER', 'reader'],
      )
      return servers.redisUrl.replace('redis://', 'redis://reader:p@')
    },
  ],
]

/** Redis after a command, until the end of the test. */
async function told(change: [string, ...string[]], back: [string, ...string[]]): Promise<string> {
  const redis = new Redis(servers.redisUrl)
  await redis.call(...change)
  onTestFinished(async () => {
    await redis.call(...back)
    redis.disconnect()
  })
  return servers.redisUrl
}

test.each(redisModes)(
  'Redis, %s: log, metrics and console name that cause and what to do',
  async (cause, words, urlOf) => {
    const REDIS_URL = await urlOf()
    const service = await startTestService({ REDIS_URL }, healthy.stores)
    onTestFinished(() => service.stop())
    const named = `outbound_redis_fault{shard="0",cause="${cause}"} 1`
    const readiness = new Readiness(service.api)
    const text = await eventually(`metrics with ${cause}`, async () => {
      const { text } = await scrape(service.api, readiness)
      return text.includes(named) && text
    })
    expect(text).toContain('outbound_redis_usable{shard="0"} 0')
    await eventually('it is logged', async () => {
      await post(service, account, textBody())
      return service.logs.some((line) => line.cause === cause && /^redis_/.test(line.event))
    })
    const admin = await startTestAdmin(healthy, { REDIS_URL })
    onTestFinished(() => admin.stop())
    await eventually('the queues page says it', async () =>
      words.test((await getPage(`${admin.url}/queues`)).text),
    )
    await eventually('each page says it', async () =>
      words.test((await getPage(`${admin.url}/channels`)).text),
    )
  },
)

test('Redis that may evict: log, metrics and console name that and what to do, and it can be used', async () => {
  const REDIS_URL = await told(
    ['CONFIG', 'SET', 'maxmemory-policy', 'allkeys-lru'],
    ['CONFIG', 'SET', 'maxmemory-policy', 'noeviction'],
  )
  const service = await startTestService({ REDIS_URL }, healthy.stores)
  onTestFinished(() => service.stop())
  await eventually('it is logged', async () =>
    service.logs.some(({ event, cause }) => event === 'redis_evicts' && cause === 'evicts'),
  )
  const { text } = await scrape(service.api, new Readiness(service.api))
  expect(text).toContain('outbound_redis_evicts{shard="0"} 1')
  expect(text).toContain('outbound_redis_usable{shard="0"} 1')
  const admin = await startTestAdmin(healthy, { REDIS_URL })
  onTestFinished(() => admin.stop())
  const words = /Redis may drop wake-ups and counts.*; set maxmemory-policy to noeviction/
  const page = async () => (await getPage(`${admin.url}/channels`)).text
  await eventually('each page says it', async () => words.test(await page()))
  // On the open connections: an operator who has done so must not be told again.
  await told(['CONFIG', 'SET', 'maxmemory-policy', 'noeviction'], ['PING'])
  const after = await scrape(service.api, new Readiness(service.api))
  expect(after.text).toContain('outbound_redis_evicts{shard="0"} 0')
  await eventually('no page says it any more', async () => !words.test(await page()))
})
