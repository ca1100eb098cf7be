import { once } from 'node:events'
import { createServer, type Server } from 'node:net'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { argumentsOf } from '../../../src/dev/service-process.ts'
import { type Command, startCommand } from '../../support/command.ts'
import { testSecrets } from '../../support/service.ts'
import { freshStores, type Stores } from '../../support/stores.ts'
import { startTlsStores, type TlsStores } from '../../support/tls-stores.ts'

let stores: Stores
let taken: Server
let takenPort: string
const started: Command[] = []

beforeAll(async () => {
  stores = await freshStores()
  taken = createServer().listen(0, '127.0.0.1')
  await once(taken, 'listening')
  takenPort = String((taken.address() as { port: number }).port)
})
afterEach(() => {
  for (const command of started.splice(0)) command.kill()
})
afterAll(() => {
  taken?.close()
})

const entries = {
  api: 'src/server.ts',
  worker: 'workers/main.ts',
  admin: 'src/admin/main.ts',
  migrate: 'src/migrate.ts',
  cli: 'src/cli/main.ts',
}
type Kind = keyof typeof entries

function start(kind: Kind, settings: Record<string, string>): Command {
  const own = { DATABASE_URL: stores.databaseUrl, REDIS_URL: stores.redisUrl, HOST: '127.0.0.1' }
  const ports = { PORT: '0', METRICS_PORT: '0', ADMIN_PORT: '0' }
  const env = { ...process.env, ...testSecrets, ...own, ...ports, ...settings }
  const command = startCommand(
    [
      'node',
      ...argumentsOf(entries[kind]),
      ...(kind === 'cli' ? ['account', 'create', '--name', 'Acme'] : []),
    ],
    { env, terminal: false },
  )
  started.push(command)
  return command
}

/** Its words about why it doesn't start, beside its log. */
async function refusal(kind: Kind, settings: Record<string, string>): Promise<string[]> {
  const command = start(kind, settings)
  expect(await command.ended()).toMatchObject({ code: kind === 'cli' ? 5 : 1 })
  return command
    .output()
    .split('\n')
    .filter((line) => !line.startsWith('{'))
}

const notOurs = '192.0.2.1'
type Fault = [Kind, string, () => Record<string, string>, RegExp]
const faults: Fault[] = [
  [
    'api',
    'PORT',
    () => ({ PORT: takenPort }),
    /^PORT: something listens at 127\.0\.0\.1:\d+ already.*EADDRINUSE/,
  ],
  [
    'admin',
    'ADMIN_PORT',
    () => ({ ADMIN_PORT: takenPort }),
    /^ADMIN_PORT: something listens at .*EADDRINUSE/,
  ],
  ['api', 'HOST', () => ({ HOST: notOurs }), /^HOST: can't listen at 192\.0\.2\.1:0.*EADDRNOTAVAIL/],
  [
    'worker',
    'METRICS_HOST',
    () => ({ METRICS_HOST: notOurs }),
    /^METRICS_HOST: can't listen at 192\.0\.2\.1:0/,
  ],
  [
    'migrate',
    'DATABASE_URL',
    () => ({ DATABASE_URL: 'postgres://localhost:1/none' }),
    /^PostgreSQL does not answer; check DATABASE_URL .*ECONNREFUSED/,
  ],
  [
    'api',
    'DATABASE_URL',
    () => ({ DATABASE_URL: 'postgres://localhost/none?sslmode=verify-full&sslrootcert=/none.pem' }),
    /DATABASE_URL has an sslrootcert that can't be read/,
  ],
  [
    'api',
    'DATABASE_URL',
    () => ({ DATABASE_URL: 'postgres://localhost/none?sslmode=prefer' }),
    /DATABASE_URL has an unknown sslmode; set it to one of disable, require, verify-ca, verify-full/,
  ],
  ...['disable', 'require', 'verify-ca'].map(
    (mode): Fault => [
      'api',
      'DATABASE_URL',
      () => ({ DATABASE_URL: `postgres://localhost/none?sslmode=${mode}&sslrootcert=system` }),
      /DATABASE_URL has sslrootcert=system, which requires sslmode=verify-full/,
    ],
  ),
  [
    'api',
    'DATABASE_URL',
    () => ({ DATABASE_URL: `${stores.databaseUrl}?sslmode=require` }),
    /^DATABASE_URL: .*does not support TLS/,
  ],
  [
    'cli',
    'DATABASE_URL',
    () => ({ DATABASE_URL: `${stores.databaseUrl}?sslmode=require` }),
    /^DATABASE_URL: .*does not support TLS/,
  ],
  [
    'cli',
    'DATABASE_URL',
    () => ({ DATABASE_URL: 'postgres://localhost:1/none' }),
    /^PostgreSQL does not answer; check DATABASE_URL/,
  ],
]

test.each(faults)(
  '%s: where %s is at fault, one line says so, and nothing blames another',
  async (kind, name, settings, line) => {
    const lines = (await refusal(kind, settings())).filter((each) => !each.startsWith('These settings'))
    expect(lines).toEqual([expect.stringMatching(line)])
    const others = ['PORT', 'HOST', 'METRICS_PORT', 'ADMIN_PORT', 'DATABASE_URL'].filter(
      (other) => other !== name,
    )
    expect(others.filter((other) => new RegExp(`\\b${other}\\b`).test(lines[0] ?? ''))).toEqual([])
  },
)

test.each<Kind>(['api', 'worker', 'admin'])(
  'a %s that starts without PostgreSQL says which setting to look at',
  async (kind) => {
    const command = start(kind, { DATABASE_URL: 'postgres://postgres@127.0.0.1:1/none' })
    expect(await command.logged('database_away')).toMatchObject({
      check: expect.stringContaining('DATABASE_URL'),
    })
  },
)

describe('with TLS', () => {
  let tls: TlsStores
  beforeAll(async () => {
    tls = await startTlsStores()
  }, 120_000)
  afterAll(() => tls?.stop())

  const withMode = (host: string, mode: string, ca = true) =>
    `${tls.databaseUrl.replace('127.0.0.1', host)}?sslmode=${mode}${ca ? `&sslrootcert=${tls.caFile}` : ''}`

  test.each([
    ['require takes any certificate', () => withMode('127.0.0.1', 'require', false)],
    ['verify-ca takes one of that CA, for whatever host', () => withMode('127.0.0.1', 'verify-ca')],
    ['verify-full takes one of that CA for that host', () => withMode('0.0.0.0', 'verify-full')],
  ])('PostgreSQL: %s', async (_name, url) => {
    expect(await start('migrate', { DATABASE_URL: url() }).ended()).toMatchObject({ code: 0 })
  })

  test.each([
    ['an unknown CA', () => withMode('0.0.0.0', 'verify-full', false), /unknown CA .*sslrootcert/],
    ['another host', () => withMode('127.0.0.1', 'verify-full'), /another host name .*verify-ca/],
  ])(
    'PostgreSQL: a certificate of %s is refused in one line that says what to set',
    async (_name, url, line) => {
      for (const kind of ['api', 'migrate', 'cli'] as const) {
        const lines = await refusal(kind, { DATABASE_URL: url() })
        expect(lines).toEqual([expect.stringMatching(line)])
        expect(lines[0]).toMatch(/^DATABASE_URL: /)
      }
    },
  )

  test('PostgreSQL: sslrootcert=system alone asks for a certificate of a known CA for that host', async () => {
    const url = `${tls.databaseUrl.replace('127.0.0.1', '0.0.0.0')}?sslrootcert=system`
    expect(await refusal('migrate', { DATABASE_URL: url })).toEqual([expect.stringMatching(/unknown CA/)])
  })

  test('PostgreSQL and Redis: a CA is known by NODE_EXTRA_CA_CERTS', async () => {
    const settings = {
      ...{ DATABASE_URL: withMode('0.0.0.0', 'verify-full', false), DATABASE_REQUIRE_TLS: 'true' },
      ...{ REDIS_URL: tls.redisUrl, REDIS_REQUIRE_TLS: 'true' },
    }
    const worker = start('worker', { ...settings, NODE_EXTRA_CA_CERTS: tls.caFile })
    await worker.logged('working')
    worker.signal('SIGTERM')
    expect(await worker.ended()).toMatchObject({ code: 0 })
    const warnings = worker
      .output()
      .split('\n')
      .filter((line) => line.includes('"level":"warn"'))
    // On a busy machine, its first connections may take longer than they may.
    expect(warnings.filter((line) => !line.includes('"cause":"timeout"'))).toEqual([])
  })

  test('Redis: a certificate of an unknown CA is logged, with the setting to change', async () => {
    const api = start('api', { REDIS_URL: tls.redisUrl })
    const line = await api.logged('redis_away')
    expect(line).toMatchObject({
      reason: expect.stringContaining('certificate'),
      check: expect.stringContaining('NODE_EXTRA_CA_CERTS'),
    })
    await api.logged('listening')
  })
})
