import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { Transform } from 'node:stream'
import type { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, type TestContext, test, vi } from 'vitest'
import { keyPrefix } from '../../src/core/sends/send-job.ts'
import { Readiness } from '../../src/platform/health/readiness.ts'
import { createLogger } from '../../src/platform/log/logger.ts'
import { createMetrics } from '../../src/platform/metrics.ts'
import { checkRedis } from '../../src/platform/process/start-check.ts'
import { parseRedisUrl } from '../../src/platform/redis/address.ts'
import { connectForAdmin, connectForRequests, connectForWorkers } from '../../src/platform/redis/redis.ts'
import { startTestService, type TestService } from '../support/service.ts'
import { freshRedis } from '../support/stores.ts'
import { eventually } from '../support/wait.ts'

const connectors = { api: connectForRequests, worker: connectForWorkers, admin: connectForAdmin }

function open(context: TestContext, kind: keyof typeof connectors, url: string) {
  const lines: { event: string; reason?: string; check?: string }[] = []
  const log = createLogger('info', { write: (line) => lines.push(JSON.parse(line)) })
  const metrics = createMetrics(kind)
  const redis = connectors[kind]({ address: parseRedisUrl(url), name: '0', prefix: keyPrefix, log, metrics })
  context.onTestFinished(() => redis.disconnect())
  return { redis, lines, metrics }
}

let service: TestService
beforeAll(async () => {
  service = await startTestService()
})
afterAll(() => service.stop())

const shardsWith = (redis: Redis) => service.api.shards.map((shard) => ({ ...shard, redis }))
const readinessOf = (redis: Redis) =>
  new Readiness({ ...service.api, shards: shardsWith(redis), log: createLogger('silent') })

const refusals = [
  [
    'a database that it does not have',
    (url: URL) => Object.assign(url, { pathname: '/99999' }),
    /DB index/,
    /its database/,
  ],
  [
    'an unknown user',
    (url: URL) => Object.assign(url, { username: 'nobody', password: 'p4ss' }),
    /WRONGPASS/,
    /its user/,
  ],
] as const

for (const kind of ['api', 'worker', 'admin'] as const) {
  test.concurrent.for(refusals)(
    `Redis refuses %s: that is no connection of the ${kind}, and it says why`,
    async ([, change, reason, check], context) => {
      const url = new URL(await freshRedis())
      change(url)
      const { redis, lines } = open(context, kind, url.href)
      const clients = [redis, ...(kind === 'worker' ? [redis.duplicate()] : [])]
      const readyClients: Redis[] = []
      for (const client of clients) {
        client.on('error', () => {})
        client.on('ready', () => readyClients.push(client))
        context.onTestFinished(() => client.disconnect())
      }
      await eventually('it is logged', async () => lines.length > 0)
      await expect(checkRedis({ shards: shardsWith(redis) })).resolves.toBeUndefined()
      await eventually(
        'it has tried again',
        async () => redis.status === 'connecting' || redis.status === 'connect',
      )
      expect(readyClients).toEqual([])
      expect(lines).toMatchObject([
        { event: 'redis_away', reason: expect.stringMatching(reason), check: expect.stringMatching(check) },
      ])
      expect(await readinessOf(redis).reasonNotReady()).toMatch(/^Redis refuses .*; check REDIS_URL: its/)
      expect(JSON.stringify(lines)).not.toContain('p4ss')
    },
  )
}

test.concurrent('a Redis that is away keeps no process from being ready', async (context) => {
  const { redis, lines } = open(context, 'api', 'redis://127.0.0.1:1')
  await eventually('it is logged', async () => lines.length > 0)
  expect(await readinessOf(redis).reasonNotReady()).toBeUndefined()
})

/** A Redis that says something else of itself, of the same length. */
async function redisThatSays(context: TestContext, changes: [RegExp, string][]): Promise<string> {
  const url = new URL(await freshRedis())
  const port = Number(url.port)
  const proxy = createServer((socket) => {
    const changing = new Transform({
      transform(chunk, _encoding, done) {
        done(
          null,
          Buffer.from(
            changes.reduce((text, change) => text.replace(...change), chunk.toString('latin1')),
            'latin1',
          ),
        )
      },
    })
    const upstream = connect({ port, host: url.hostname })
    for (const one of [socket, upstream]) one.on('error', () => {})
    socket.on('close', () => upstream.destroy())
    socket.pipe(upstream).pipe(changing).pipe(socket)
  }).listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  context.onTestFinished(() => void proxy.close())
  url.port = String((proxy.address() as AddressInfo).port)
  return url.href
}

test.concurrent('a Redis that is too old is refused at start, in a sentence; later the process is not ready', async (context) => {
  const url = await redisThatSays(context, [[/redis_version:\d/g, 'redis_version:6']])
  const { redis, lines } = open(context, 'api', url)
  // As long as it hasn't answered, it counts as away.
  const error = await eventually('it is refused', () =>
    checkRedis({ shards: shardsWith(redis) }).then(
      () => undefined,
      (error: Error) => error,
    ),
  )
  expect(error.message).toMatch(/^REDIS_URL: Redis 6[.\d]+ is too old; use Redis 7.0 or newer$/)
  await eventually('it is logged', async () => lines.some(({ event }) => event === 'redis_too_old'))
  expect(await readinessOf(redis).reasonNotReady()).toMatch(/^REDIS_URL: Redis 6[.\d]+ is too old/)
})

test.concurrent('a Redis that evicts is logged once a process, as JSON, and shown as a metric', async (context) => {
  const warn = vi.spyOn(console, 'warn')
  const url = await redisThatSays(context, [[/maxmemory_policy:noeviction/g, 'maxmemory_policy:allkeyslru']])
  const service = await startTestService({ REDIS_URL: url, QUEUE_SHARDS: '2' })
  context.onTestFinished(() => service.stop())
  const worker = await service.startWorker()
  const ofWorkerAndApi = () => service.logs.filter(({ event }) => event === 'redis_evicts')
  await eventually('it is logged', async () => ofWorkerAndApi().length === 2)
  await worker.stop()
  expect(ofWorkerAndApi()).toMatchObject(
    Array(2).fill({
      level: 'warn',
      policy: 'allkeyslru',
      reason: expect.stringContaining('set it to noeviction'),
    }),
  )
  expect(await service.api.metrics.redisEvicts.get()).toMatchObject({ values: [{ value: 1 }, { value: 1 }] })
  expect(warn).not.toHaveBeenCalled()
})
