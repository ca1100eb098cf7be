import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { connectDatabase } from '../../../db/connection/client.ts'
import { mintMediaLink } from '../../../src/core/messages/media-link.ts'
import { type Reaper, startReaper } from '../../../src/dev/embedded/index.ts'
import { startService } from '../../../src/dev/service-process.ts'
import { type Account, accept, buildAccount, textBody } from '../../support/builders.ts'
import { buildProviderChannel } from '../../support/provider-channel.ts'
import { whatsAppConfig } from '../../support/receipts.ts'
import { testSecrets } from '../../support/service.ts'
import { freshStores } from '../../support/stores.ts'
import { eventually } from '../../support/wait.ts'
import { expectCalmUnder, type Flood, pipelined } from '../hostile/flood.ts'

const publicBaseUrl = 'https://messages.example.com'
const credentialsKey = Buffer.from(testSecrets.CREDENTIALS_KEY, 'base64')
/** One less than what closes the connection. */
const ahead = 99
const mebibyte = 1024 * 1024
const mediaBytes = 8 * mebibyte

let reaper: Reaper
let environment: Record<string, string>
let account: Account
let mediaPath: string
let sendPath: string
let receiptsPath: string

beforeAll(async () => {
  reaper = startReaper()
  const stores = await freshStores()
  environment = {
    ...testSecrets,
    // As `npm start` has it: it takes memory of its own.
    NODE_OPTIONS: '--max-semi-space-size=64',
    DATABASE_URL: stores.databaseUrl,
    REDIS_URL: stores.redisUrl,
    PUBLIC_BASE_URL: publicBaseUrl,
    ...{ HOST: '127.0.0.1', PORT: '0', METRICS_PORT: '0', ADMIN_PORT: '0', RATE_LIMIT_POINTS: '1000000' },
  }
  const db = connectDatabase(stores.databaseUrl, {
    poolSize: 1,
    queryTimeoutMs: 10_000,
    onConnectionLost: () => {},
  })
  const settings = { API_KEY_PEPPER: testSecrets.API_KEY_PEPPER, CREDENTIALS_KEY: credentialsKey }
  const registry = { runtime: { db, settings } }
  account = await buildAccount(registry)
  const channelId = await buildProviderChannel(registry, account.accountId, 'whatsapp-cloud', whatsAppConfig)
  receiptsPath = `/receipts/${channelId}`
  await db.$client.end()
  const { service, stop } = await startApi()
  await Promise.all(Array.from({ length: 100 }, () => accept(service, account, textBody('x'.repeat(4000)))))
  const content = Buffer.alloc(mediaBytes, '%PDF-1.7 ').toString('base64')
  const media = { mediaType: 'document', base64: content, filename: 'a.pdf' }
  const requestId = await accept(service, account, { ...textBody(), message: { type: 'media', media } })
  sendPath = `/v1/messages/${requestId}`
  const link = mintMediaLink(publicBaseUrl, requestId, new Date(Date.now() + 600_000), credentialsKey)
  mediaPath = new URL(link).pathname
  await stop()
})

afterAll(() => reaper.close())

/** Each flood has a process of its own, since memory that an earlier one took isn't given back at once. */
async function start(entry: string, readyEvent: string) {
  let metricsPort = 0
  const onLine = (line: string) => {
    if (line.includes('"serving_health"')) metricsPort = JSON.parse(line).metricsPort
  }
  const process = await startService({ entry, readyEvent, environment, reaper, onLine })
  const stop = () => {
    // A drain would take a second each time.
    process.child.kill('SIGKILL')
    return process.stop()
  }
  return { pid: process.child.pid as number, process, metricsPort, stop }
}

async function startApi() {
  const { process, ...started } = await start('src/server.ts', 'listening')
  const port = Number(process.ready.port)
  const service = { url: `http://127.0.0.1:${port}` }
  await eventually('the API', async () => (await fetch(`${service.url}/readyz`)).ok)
  return { ...started, port, service }
}

const authorization = () => ({ Authorization: `Bearer ${account.apiKey}` })
const bodyOf = (bytes: number) => JSON.stringify(textBody()).padEnd(bytes)
const itemsOf = (count: number) => JSON.stringify({ ...textBody(), items: Array(count).fill(1) })
const post = (path: string, body: string, headers: Record<string, string> = {}) =>
  pipelined(4, { method: 'POST', path, headers, body })
const get = (path: string, headers: Record<string, string> = {}) => pipelined(ahead, { path, headers })
const headersOf = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, n) => [`X-${n}`, '1']))
const head = (path: string) => pipelined(ahead, { method: 'HEAD', path })

function getUnderOtherHosts(path: string): Buffer {
  const hosts = Array.from({ length: ahead }, (_, n) => `host-${n}-${process.hrtime.bigint()}`)
  return Buffer.concat(hosts.map((Host) => pipelined(1, { path, headers: { Host } })))
}

const floods: Record<string, () => Buffer> = {
  'GET /docs': () => get('/docs'),
  'GET /docs, each under another host': () => getUnderOtherHosts('/docs'),
  'HEAD /openapi.json': () => head('/openapi.json'),
  'GET of no route': () => get('/nowhere'),
  'a list of 100 sends': () => get('/v1/messages?limit=100', authorization()),
  'HEAD of media': () => head(mediaPath),
  'media of 8 MiB': () => get(mediaPath),
  'receipts of no channel': () =>
    pipelined(ahead, { method: 'POST', path: `/receipts/${randomUUID()}`, body: '{}' }),
  'receipts of 1 MiB': () => post(receiptsPath, bodyOf(mebibyte)),
  'one send': () => get(sendPath, authorization()),
  'requests with 150 headers': () => get('/docs', headersOf(150)),
  'requests with 1,000 headers': () => get('/healthz', headersOf(1000)),
  'sends with bodies of 1 MiB': () => post('/v1/messages', bodyOf(mebibyte), authorization()),
  'sends with 9,000 items': () => post('/v1/messages', itemsOf(9000), authorization()),
  'bodies of 1 MiB without a key': () => post('/v1/messages', bodyOf(mebibyte)),
}
const some = ['GET /docs']

describe('the API stays small, and answers others in time, under a hundred connections', () => {
  const flood = async (name: string, more: Partial<Flood> = {}) => {
    const { pid, port, service, stop } = await startApi()
    onTestFinished(stop)
    await expectCalmUnder({ pid, port, bytes: (floods[name] as () => Buffer)(), ...more })
    expect(await accept(service, account, textBody())).toMatch(/^[\da-f-]{36}$/)
  }
  test.each(Object.keys(floods))('that pipeline %s, and read nothing', async (name) => {
    await flood(name)
  })
  test.each(some)('that pipeline %s, and read a byte a second', async (name) => {
    await flood(name, { reads: 'slowly' })
  })
  test.each(some)('that pipeline %s, and end their side', async (name) => {
    await flood(name, { isHalfClosed: true })
  })
  test.each(['/metrics'])('that pipeline GET %s of its health server', async (path) => {
    const { pid, metricsPort: port, stop } = await startApi()
    onTestFinished(stop)
    await expectCalmUnder({ pid, port, bytes: get(path) })
  })
})

test.each(['/login', '/metrics'])(
  'so does the admin process under a hundred that pipeline GET %s',
  async (path) => {
    const { pid, process, stop } = await start('src/admin/main.ts', 'serving_admin')
    onTestFinished(stop)
    await expectCalmUnder({ pid, port: Number(process.ready.adminPort), bytes: get(path) })
  },
)
