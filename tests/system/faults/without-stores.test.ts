import { once } from 'node:events'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { connectDatabase, type Database } from '../../../db/connection/client.ts'
import { type Reaper, startReaper } from '../../../src/dev/embedded/index.ts'
import { type ServiceProcess, startService } from '../../../src/dev/service-process.ts'
import { type Seed, seedDemoAccount } from '../../../src/dev/world/seed.ts'
import { type BreakableServers, startBreakableServers } from '../../support/breakable-servers.ts'
import { newContact } from '../../support/builders.ts'
import { testSecrets } from '../../support/service.ts'
import { expectSooner, spanBetween } from '../../support/standstill.ts'
import { eventually } from '../../support/wait.ts'

let reaper: Reaper
let servers: BreakableServers
let environment: Record<string, string>
let db: Database
let seed: Seed
const running: ServiceProcess[] = []

beforeAll(async () => {
  reaper = startReaper()
  servers = await startBreakableServers(reaper)
  const { databaseUrl, redisUrl } = servers
  environment = {
    ...testSecrets,
    DATABASE_URL: databaseUrl,
    REDIS_URL: redisUrl,
    HOST: '127.0.0.1',
    PORT: '0',
    METRICS_PORT: '0',
  }
  db = connectDatabase(databaseUrl, { poolSize: 1, queryTimeoutMs: 5000, onConnectionLost: () => {} })
  seed = await seedDemoAccount(environment)
})
afterAll(async () => {
  await Promise.all(running.map((service) => service.stop()))
  await db?.$client.end()
  await servers?.stop()
  await reaper?.close()
})

async function start(entry: string, readyEvent: string): Promise<ServiceProcess> {
  const service = await startService({ entry, readyEvent, environment, reaper })
  running.push(service)
  return service
}

async function sendTo(api: ServiceProcess): Promise<number> {
  const response = await fetch(`http://127.0.0.1:${api.ready.port}/v1/messages`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${seed.apiKey}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({
      channelId: seed.channelId,
      contact: { value: newContact() },
      message: { type: 'text', text: { value: 'Hello' } },
    }),
  })
  await response.arrayBuffer()
  return response.status
}

test('processes started while both stores are down begin to work when these are back', async () => {
  await Promise.all([servers.stopRedis(), servers.stopPostgres()])
  const api = await start('src/server.ts', 'listening')
  await start('workers/main.ts', 'working')
  expect(await sendTo(api)).toBe(503)
  await Promise.all([servers.startRedis(), servers.startPostgres()])
  await eventually('it accepts', async () => (await sendTo(api)) === 202)
  await eventually('all are sent', async () => {
    const { rows } = await db.$client.query('select distinct status from sends')
    return rows.length === 1 && rows[0].status === 'sent'
  })
})

test('a worker ends within its time although Redis is away', async () => {
  const worker = await start('workers/main.ts', 'working')
  await servers.stopRedis()
  const exited = once(worker.child, 'exit')
  const signalledAt = performance.now()
  worker.child.kill('SIGTERM')
  expect(await exited).toEqual([0, null])
  expectSooner(spanBetween(signalledAt, performance.now()), 10_000)
  await servers.startRedis()
})
