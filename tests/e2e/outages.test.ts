import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { v7 as uuidv7 } from 'uuid'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { createChannel } from '../../db/channels.ts'
import { connectDatabase, type Database } from '../../db/client.ts'
import { sealConfig } from '../../src/core/sealed-config.ts'
import { type Reaper, startReaper } from '../../src/dev/embedded/index.ts'
import { type Seed, seedDemoAccount } from '../../src/dev/seed.ts'
import { type ServiceProcess, startService } from '../../src/dev/service-process.ts'
import { type BreakableServers, startBreakableServers } from '../support/breakable-servers.ts'
import { testSecrets } from '../support/service.ts'
import { eventually } from '../support/wait.ts'

const sendsPerSecond = 200
const loadMs = 6000
const faultAfterMs = 1000
const faultMs = 3000
const slowestAnswerMs = 1500
const recoverWithinMs = 30_000
/** After the store is back. */
const deliveredWithinMs = 10_000

let reaper: Reaper
let servers: BreakableServers
let environment: Record<string, string>
let db: Database
let seed: Seed
let channelId: string
let receiver: Server
/** How often the receiver was called for each send. */
const calls = new Map<string, number>()
const running: ServiceProcess[] = []
let apiUrl: string
let faultAt: number
let overAt: number
let lastCallAt: number

beforeAll(async () => {
  reaper = startReaper()
  servers = await startBreakableServers(reaper)
  environment = {
    ...testSecrets,
    DATABASE_URL: servers.databaseUrl,
    REDIS_URL: servers.redisUrl,
    HOST: '127.0.0.1',
    PORT: '0',
    METRICS_PORT: '0',
    RATE_LIMIT_POINTS: '1000000',
    ALLOWED_PRIVATE_NETWORKS: '127.0.0.0/8',
  }
  db = connectDatabase(servers.databaseUrl, { poolSize: 2, queryTimeoutMs: 5000, onConnectionLost: () => {} })
  seed = await seedDemoAccount(environment)
  receiver = createServer((request, response) => {
    const id = String(request.headers['webhook-id'])
    calls.set(id, (calls.get(id) ?? 0) + 1)
    lastCallAt = performance.now()
    request.resume().on('end', () => response.end('{}'))
  }).listen(0, '127.0.0.1')
  await once(receiver, 'listening')
  channelId = await createWebhookChannel((receiver.address() as { port: number }).port)
  apiUrl = `http://127.0.0.1:${(await start('src/server.ts', 'listening')).ready.port}`
  await start('workers/main.ts', 'working')
})
afterAll(async () => {
  await Promise.all(running.map((service) => service.stop()))
  await db?.$client.end()
  receiver?.close()
  await servers?.stop()
  await reaper?.close()
})
beforeEach(() => calls.clear())

async function start(entry: string, readyEvent: string): Promise<ServiceProcess> {
  const service = await startService({ entry, readyEvent, environment, reaper })
  running.push(service)
  return service
}

async function createWebhookChannel(port: number): Promise<string> {
  const id = uuidv7()
  const secret = `whsec_${Buffer.alloc(32, 5).toString('base64')}`
  const config = { url: `http://127.0.0.1:${port}/`, secret }
  const sealedConfig = sealConfig(config, id, Buffer.from(testSecrets.CREDENTIALS_KEY, 'base64'))
  const { accountId } = seed
  await createChannel(db, {
    id,
    accountId,
    provider: 'webhook',
    name: 'x',
    sealedConfig,
    onUncertain: 'resend',
  })
  return id
}

interface Answer {
  status: number
  requestId: string
  startedAt: number
  ms: number
}

async function sendOne(): Promise<Answer> {
  const startedAt = performance.now()
  const response = await fetch(`${apiUrl}/v1/messages`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${seed.apiKey}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({
      channelId,
      contact: { value: `+4915${String(Math.floor(Math.random() * 1e9)).padStart(9, '0')}` },
      message: { type: 'text', text: { value: 'Hello' } },
    }),
  })
  const { requestId } = (await response.json()) as { requestId: string }
  return { status: response.status, requestId, startedAt, ms: performance.now() - startedAt }
}

/** Sends at a steady rate, whatever comes back, and does something to the servers meanwhile. */
async function underLoad(fault: () => Promise<void>): Promise<Answer[]> {
  const answers: Promise<Answer>[] = []
  const startedAt = performance.now()
  const faulting = sleep(faultAfterMs).then(async () => {
    faultAt = performance.now()
    await fault()
    overAt = performance.now()
  })
  for (let sent = 0; performance.now() - startedAt < loadMs; ) {
    const due = Math.floor(((performance.now() - startedAt) / 1000) * sendsPerSecond)
    for (; sent < due; sent++) answers.push(sendOne())
    await sleep(5)
  }
  await faulting
  return await Promise.all(answers)
}

const accepted = (answers: Answer[]) => answers.filter(({ status }) => status === 202)
const slowest = (answers: Answer[]) => Math.max(...answers.map(({ ms }) => ms))

async function expectAllDelivered(answers: Answer[]): Promise<void> {
  const missing = () => accepted(answers).filter(({ requestId }) => !calls.has(requestId))
  await eventually('all are delivered', async () => missing().length === 0, recoverWithinMs)
  expect(accepted(answers).filter(({ requestId }) => calls.get(requestId) !== 1)).toEqual([])
  expect(lastCallAt - overAt).toBeLessThan(deliveredWithinMs)
  await eventually(
    'all are recorded as sent',
    async () => {
      const { rows } = await db.$client.query(
        `select count(*)::int as left from sends where status <> 'sent'`,
      )
      return rows[0].left === 0
    },
    recoverWithinMs,
  )
}

const pause = () => sleep(faultMs)

test.each<[string, () => Promise<void>]>([
  ['stopped', async () => servers.stopRedis().then(pause).then(servers.startRedis)],
  ['frozen', async () => Promise.resolve(servers.freezeRedis()).then(pause).then(servers.thawRedis)],
  ['emptied', () => servers.emptyRedis()],
])(
  'with Redis %s all is accepted within 1.5 s, and all is delivered once',
  async (_how, fault) => {
    const answers = await underLoad(fault)
    expect(accepted(answers)).toHaveLength(answers.length)
    expect(slowest(answers)).toBeLessThan(slowestAnswerMs)
    await expectAllDelivered(answers)
  },
  90_000,
)

test.each<[string, () => Promise<void>]>([
  ['stopped', async () => servers.stopPostgres().then(pause).then(servers.startPostgres)],
  ['frozen', async () => Promise.resolve(servers.freezePostgres()).then(pause).then(servers.thawPostgres)],
])(
  'with PostgreSQL %s what is not accepted is a 503 within 1.5 s, and all that is accepted is delivered once',
  async (_how, fault) => {
    const answers = await underLoad(fault)
    const refused = answers.filter(({ status }) => status !== 202)
    expect(new Set(refused.map(({ status }) => status))).toEqual(new Set([503]))
    expect(slowest(answers)).toBeLessThan(slowestAnswerMs)
    await expectAllDelivered(answers)
    // What PostgreSQL was committing in the very moment of the fault may be recorded all the same; nothing later.
    const recorded = refused.filter(({ requestId }) => calls.has(requestId))
    expect(recorded.filter(({ startedAt }) => startedAt > faultAt)).toEqual([])
  },
  90_000,
)

test('processes started while both stores are down take up their work when these are back', async () => {
  await Promise.all([servers.stopRedis(), servers.stopPostgres()])
  const api = await start('src/server.ts', 'listening')
  const before = apiUrl
  await start('workers/main.ts', 'working')
  apiUrl = `http://127.0.0.1:${api.ready.port}`
  expect((await sendOne()).status).toBe(503)
  await Promise.all([servers.startRedis(), servers.startPostgres()])
  overAt = performance.now()
  const answer = await eventually('it accepts', async () => {
    const one = await sendOne()
    return one.status === 202 && one
  })
  await expectAllDelivered([answer])
  apiUrl = before
}, 90_000)

test('a worker ends within its time although Redis is away', async () => {
  const worker = await start('workers/main.ts', 'working')
  await servers.stopRedis()
  const exited = once(worker.child, 'exit')
  const signalledAt = performance.now()
  worker.child.kill('SIGTERM')
  expect(await exited).toEqual([0, null])
  expect(performance.now() - signalledAt).toBeLessThan(10_000)
  await servers.startRedis()
}, 60_000)
