import { spawnSync } from 'node:child_process'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Reaper, startReaper } from '../../../src/dev/embedded/index.ts'
import { promtoolBinary } from '../../../src/dev/embedded/promtool-binary.ts'
import { type ServiceProcess, startService } from '../../../src/dev/service-process.ts'
import { type Seed, seedDemoAccount } from '../../../src/dev/world/seed.ts'
import { createMetrics, type ProcessKind } from '../../../src/platform/metrics.ts'
import { absentId } from '../../support/absent-id.ts'
import { newContact, textBody } from '../../support/builders.ts'
import { scrapeAt } from '../../support/scrape.ts'
import { testSecrets } from '../../support/service.ts'
import { freshStores } from '../../support/stores.ts'
import { eventually } from '../../support/wait.ts'

const kinds: readonly ProcessKind[] = ['api', 'worker', 'admin']
const entries = {
  api: { entry: 'src/server.ts', readyEvent: 'listening' },
  worker: { entry: 'workers/main.ts', readyEvent: 'working' },
  admin: { entry: 'src/admin/main.ts', readyEvent: 'serving_admin' },
}

let reaper: Reaper
let seed: Seed
let apiUrl: string
const metricsUrls = {} as Record<ProcessKind, string>
const started: ServiceProcess[] = []

beforeAll(async () => {
  reaper = startReaper()
  const { databaseUrl, redisUrl } = await freshStores()
  const environment = {
    ...testSecrets,
    DATABASE_URL: databaseUrl,
    REDIS_URL: redisUrl,
    HOST: '127.0.0.1',
    PORT: '0',
    METRICS_PORT: '0',
    ADMIN_PORT: '0',
  }
  seed = await seedDemoAccount(environment)
  await Promise.all(
    kinds.map(async (kind) => {
      const lines: Record<string, unknown>[] = []
      const onLine = (line: string) => line.startsWith('{') && lines.push(JSON.parse(line))
      const service = await startService({ ...entries[kind], environment, reaper, onLine })
      started.push(service)
      const serving = lines.find(({ event }) => event === 'serving_health' || event === 'serving_admin')
      metricsUrls[kind] = `http://127.0.0.1:${serving?.metricsPort ?? serving?.adminPort}`
      if (kind === 'api') apiUrl = `http://127.0.0.1:${service.ready.port}`
    }),
  )
  // Each has its first connection by then, and no send of the tests has to wait for it.
  await eventually('the API', read)
  await eventually('the admin process, with the first lease of the worker', async () => {
    const scrape = await scrapeAt(metricsUrls.admin)
    return scrape.value('outbound_collector_up') === 2 && scrape.value('outbound_workers') === 1
  })
})
afterAll(async () => {
  await Promise.all(started.map((service) => service.stop()))
  await reaper.close()
})

async function send(body: object, apiKey = seed.apiKey) {
  const response = await fetch(`${apiUrl}/v1/channels/${seed.channelId}/messages`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${apiKey}`, 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  })
  return { status: response.status, requestId: ((await response.json()) as { requestId: string }).requestId }
}

test('a send moves the counters of every process that handles it', async () => {
  const secretText = 'Nobody else is to read this'
  const startedAt = performance.now()
  const contact = newContact()
  const accepted = await send(textBody(secretText, contact))
  const rejected = await send(textBody(secretText, '+15550100103'))
  const refused = await send(textBody(secretText, contact), `${seed.apiKey}x`)
  expect([accepted, rejected, refused].map(({ status }) => status)).toEqual([202, 202, 401])

  const provider = 'sandbox'
  const worker = await eventually('both have ended', async () => {
    const scrape = await scrapeAt(metricsUrls.worker)
    return scrape.value('outbound_sends_ended_total') === 2 && scrape
  })
  expect(worker.value('outbound_sends_ended_total', { status: 'sent' })).toBe(1)
  expect(worker.value('outbound_sends_ended_total', { status: 'failed' })).toBe(1)
  expect(worker.value('outbound_sends_ended_total', { status: 'uncertain' })).toBe(0)
  expect(worker.value('outbound_dispatches_total', { provider, outcome: 'sent' })).toBe(1)
  expect(worker.value('outbound_dispatches_total', { provider, outcome: 'rejected' })).toBe(1)
  expect(worker.value('outbound_dispatch_duration_seconds_count', { provider })).toBe(2)
  expect(worker.value('outbound_accept_to_sent_seconds_count', { provider })).toBe(1)
  const took = worker.value('outbound_accept_to_sent_seconds_sum', { provider }) ?? 0
  expect(took).toBeGreaterThan(0)
  // Both count the same seconds.
  expect(took).toBeLessThan((performance.now() - startedAt) / 1000)
  expect(worker.value('outbound_claim_batch_sends_sum')).toBeGreaterThanOrEqual(2)
  expect(worker.value('outbound_outcome_batch_sends_sum')).toBe(2)
  expect(worker.value('outbound_worker_slots')).toBe(1000)
  expect(worker.value('outbound_overflow_work_limit')).toBe(4)
  expect(worker.value('outbound_sends_at_work')).toBe(0)
  expect(worker.value('outbound_media_memory_bytes')).toBe(0)

  const api = await scrapeAt(metricsUrls.api)
  const route = '/v1/channels/:channelId/messages'
  expect(api.value('outbound_requests_total', { route, status: 202 })).toBe(2)
  expect(api.value('outbound_requests_total', { route, status: 401 })).toBe(1)
  expect(api.value('outbound_accept_duration_seconds_count', { route })).toBe(2)
  expect(api.value('outbound_sends_accepted_total', { message_type: 'text' })).toBe(2)
  expect(api.value('outbound_auth_failures_total')).toBe(1)
  expect(api.value('outbound_rate_limited_total', { limit: 'account' })).toBe(0)

  const admin = await scrapeAt(metricsUrls.admin)
  expect(admin.value('outbound_workers')).toBe(1)
  expect(admin.value('outbound_collector_up')).toBe(2)

  const words = [secretText, contact.slice(1), '15550100103', seed.apiKey, seed.accountId, seed.channelId]
  for (const { text } of [api, worker, admin]) {
    for (const word of [...words, accepted.requestId, rejected.requestId]) expect(text).not.toContain(word)
  }
})

test('a send counts as in flight as long as its call takes', async () => {
  const inFlight = async () => (await scrapeAt(metricsUrls.worker)).value('outbound_sends_in_flight')
  await eventually('nothing is in flight', async () => (await inFlight()) === 0)
  await send(textBody('Hello', '+15550100101'))
  await eventually('it is in flight', async () => (await inFlight()) === 1)
  await eventually('nothing is in flight any more', async () => (await inFlight()) === 0)
})

const read = async () => {
  const headers = { Authorization: `Bearer ${seed.apiKey}` }
  return (await fetch(`${apiUrl}/v1/messages/${absentId}`, { headers })).status === 404
}

test.each(kinds)('%s shows its metrics and those of every process, and no others', async (kind) => {
  // An idle API closes its connections to PostgreSQL.
  expect(await read()).toBe(true)
  const { names, value } = await scrapeAt(metricsUrls[kind])
  const defined = createMetrics(kind)
    .registry.getMetricsAsArray()
    .map(({ name }) => name)
  expect(names.sort()).toEqual(defined.sort())
  expect(value('outbound_redis_connected')).toBe(1)
  expect(value('outbound_redis_breaker_open')).toBe(0)
  expect(value('outbound_database_connections_max')).toBeGreaterThan(5)
  expect(value('outbound_database_connections')).toBeGreaterThan(0)
  expect(value('outbound_faults_total', { level: 'error' })).toBe(0)
  expect(value('nodejs_eventloop_lag_p99_seconds')).toBeGreaterThan(0)
})

test.each(kinds)(
  'the metrics of %s are valid, and their names follow the rules of Prometheus',
  async (kind) => {
    const { file, env } = await promtoolBinary()
    const check = (input: string) =>
      spawnSync(file, ['check', 'metrics'], { input, encoding: 'utf8', env: { ...process.env, ...env } })
    const { text } = await scrapeAt(metricsUrls[kind])
    // 3: of names that prom-client has chosen; what can't be parsed is 1.
    expect([0, 3]).toContain(check(text).status)
    const ours = text.split('\n\n').filter((metric) => metric.includes(' outbound_'))
    expect(ours.length).toBeGreaterThan(5)
    expect(check(`${ours.join('\n')}\n`)).toMatchObject({ status: 0, stderr: '' })
  },
)
