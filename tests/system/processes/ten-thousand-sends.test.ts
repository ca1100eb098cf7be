import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { connectDatabase, type Database } from '../../../db/connection/client.ts'
import { type Reaper, startReaper } from '../../../src/dev/embedded/index.ts'
import { type ServiceProcess, startService } from '../../../src/dev/service-process.ts'
import { type Seed, seedDemoAccount } from '../../../src/dev/world/seed.ts'
import { testSecrets } from '../../support/service.ts'
import { freshStores } from '../../support/stores.ts'
import { eventually } from '../../support/wait.ts'

const sends = 10_000
const connections = 64

let reaper: Reaper
let db: Database
let api: ServiceProcess
let worker: ServiceProcess
let seed: Seed

beforeAll(async () => {
  const { databaseUrl, redisUrl } = await freshStores()
  const environment = {
    ...testSecrets,
    DATABASE_URL: databaseUrl,
    REDIS_URL: redisUrl,
    HOST: '127.0.0.1',
    PORT: '0',
    METRICS_PORT: '0',
    // Repeats count as well.
    RATE_LIMIT_POINTS: String(2 * sends),
  }
  reaper = startReaper()
  db = connectDatabase(databaseUrl, { poolSize: 1, queryTimeoutMs: 10_000, onConnectionLost: () => {} })
  seed = await seedDemoAccount(environment)
  const common = { environment, reaper }
  ;[api, worker] = await Promise.all([
    startService({ ...common, entry: 'src/server.ts', readyEvent: 'listening' }),
    startService({ ...common, entry: 'workers/main.ts', readyEvent: 'working' }),
  ])
})
afterAll(async () => {
  await Promise.all([api?.stop(), worker?.stop()])
  await db?.$client.end()
  await reaper?.close()
})

let refusals = 0

/** Repeats it after a 503, as the docs advise clients to. */
async function sendOne(
  number: number,
  contact = `+49151${String(number % 1000).padStart(8, '0')}`,
): Promise<number> {
  return await eventually('an answer', async () => {
    const status = await tryOne(number, contact)
    if (status !== 503) return status
    refusals++
    return undefined
  })
}

async function tryOne(number: number, contact: string): Promise<number> {
  const response = await fetch(`http://127.0.0.1:${api.ready.port}/v1/messages`, {
    method: 'POST',
    headers: {
      Authorization: `Bearer ${seed.apiKey}`,
      'Content-Type': 'application/json',
      'Idempotency-Key': `${number} ${contact}`,
    },
    body: JSON.stringify({
      channelId: seed.channelId,
      contact: { value: contact },
      message: { type: 'text', text: { value: `Number ${number}` } },
    }),
  })
  await response.arrayBuffer()
  return response.status
}

test('ten thousand sends through one API and one worker all end sent, each once at the provider', async () => {
  const statuses = new Map<number, number>()
  let next = 0
  const client = async () => {
    while (next < sends) {
      const status = await sendOne(next++)
      statuses.set(status, (statuses.get(status) ?? 0) + 1)
    }
  }
  await Promise.all(Array.from({ length: connections }, client))
  expect([...statuses]).toEqual([[202, sends]])
  expect(refusals).toBeLessThan(sends / 20)

  const finished = async () => {
    const { rows } = await db.execute<{ count: number }>(
      sql`select count(*)::int from sends where finished_at is null`,
    )
    return rows[0]?.count === 0
  }
  await eventually('all sends are finished', finished, 90_000)

  const { rows } = await db.execute(sql`
    select s.status, count(*)::int as sends, sum(calls)::int as calls, max(calls)::int as most
    from sends s cross join lateral (
      select count(*) as calls from sandbox_messages m where m.request_id = s.request_id) m
    group by s.status`)
  expect(rows).toEqual([{ status: 'sent', sends, calls: sends, most: 1 }])
})

test('SIGTERM lets both processes finish their work, and exit with 0', async () => {
  const slow = '+15550100101'
  const statusOfSlow = async () => {
    const { rows } = await db.execute<{ status: string }>(
      sql`select status from sends where contact_value = ${slow}`,
    )
    return rows[0]?.status
  }
  expect(await sendOne(1, slow)).toBe(202)
  await eventually('the slow send is under way', async () => (await statusOfSlow()) === 'sending')
  await Promise.all([api.stop(), worker.stop()])
  expect(await statusOfSlow()).toBe('sent')
  expect([api.child.exitCode, worker.child.exitCode]).toEqual([0, 0])
})
