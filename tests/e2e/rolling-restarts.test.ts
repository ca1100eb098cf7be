import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { connectDatabase, type Database } from '../../db/client.ts'
import { type Reaper, startReaper } from '../../src/dev/embedded/index.ts'
import { type Seed, seedDemoAccount } from '../../src/dev/seed.ts'
import { type ServiceProcess, startService } from '../../src/dev/service-process.ts'
import { type Balancer, startBalancer } from '../support/balancer.ts'
import { testSecrets } from '../support/service.ts'
import { freshStores } from '../support/stores.ts'
import { eventually } from '../support/wait.ts'

const restarts = 10
const clients = 8

let reaper: Reaper
let db: Database
let seed: Seed
let balancer: Balancer
let environment: Record<string, string>
const apis: ServiceProcess[] = []
const workers: ServiceProcess[] = []

beforeAll(async () => {
  const { databaseUrl, redisUrl } = await freshStores()
  environment = {
    ...testSecrets,
    DATABASE_URL: databaseUrl,
    REDIS_URL: redisUrl,
    HOST: '127.0.0.1',
    PORT: '0',
    METRICS_PORT: '0',
    RATE_LIMIT_POINTS: '1000000',
  }
  reaper = startReaper()
  balancer = await startBalancer()
  db = connectDatabase(databaseUrl, { poolSize: 1, queryTimeoutMs: 10_000, onConnectionLost: () => {} })
  seed = await seedDemoAccount(environment)
  await Promise.all([startApi(), startApi(), startWorker(), startWorker()])
})
afterAll(async () => {
  balancer?.stop()
  await Promise.all([...apis, ...workers].map((service) => service.stop()))
  await db?.$client.end()
  await reaper?.close()
})

const urlOf = (api: ServiceProcess) => `http://127.0.0.1:${api.ready.port}`

async function startApi(): Promise<void> {
  const api = await startService({ entry: 'src/server.ts', readyEvent: 'listening', environment, reaper })
  await balancer.add(urlOf(api))
  apis.push(api)
}

async function startWorker(): Promise<void> {
  workers.push(await startService({ entry: 'workers/main.ts', readyEvent: 'working', environment, reaper }))
}

/** The new one first, then the old one goes, as a rolling deploy does it. */
async function restartOneOfEach(): Promise<void> {
  await Promise.all([startApi(), startWorker()])
  const api = apis.shift() as ServiceProcess
  const worker = workers.shift() as ServiceProcess
  await Promise.all([api.stop(), worker.stop()])
  balancer.remove(urlOf(api))
  expect([api.child.exitCode, worker.child.exitCode]).toEqual([0, 0])
}

test('ten rolling restarts under load fail no request and lose no send', async () => {
  const statuses = new Map<number, number>()
  let isOver = false
  let number = 0
  const client = async () => {
    while (!isOver) {
      const response = await fetch(`${balancer.url}/v1/messages`, {
        method: 'POST',
        headers: { Authorization: `Bearer ${seed.apiKey}`, 'Content-Type': 'application/json' },
        body: JSON.stringify({
          channelId: seed.channelId,
          contact: { value: `+49151${String(number++ % 500).padStart(8, '0')}` },
          message: { type: 'text', text: { value: 'Hello' } },
        }),
      })
      await response.arrayBuffer()
      statuses.set(response.status, (statuses.get(response.status) ?? 0) + 1)
      await sleep(20)
    }
  }
  const load = Promise.all(Array.from({ length: clients }, client))
  for (let restart = 0; restart < restarts; restart++) await restartOneOfEach()
  isOver = true
  await load

  expect([...statuses.keys()]).toEqual([202])
  await eventually('all sends are sent', async () => {
    const { rows } = await db.$client.query(`select status, count(*)::int from sends group by status`)
    return rows.length === 1 && rows[0].status === 'sent' && rows[0].count === statuses.get(202)
  })
  const { rows } = await db.$client.query(
    `select count(*)::int as calls, count(distinct request_id)::int as sends from sandbox_messages`,
  )
  expect(rows).toEqual([{ calls: statuses.get(202), sends: statuses.get(202) }])
}, 240_000)
