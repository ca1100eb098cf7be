import { Writable } from 'node:stream'
import { afterAll } from 'vitest'
import { connectDatabase } from '../../db/connection/client.ts'
import { createApp } from '../../src/api/app.ts'
import { timeouts as production } from '../../src/api/http/client-timeouts.ts'
import { listen, portOf, stopListening } from '../../src/api/http/listen.ts'
import {
  type CallbackJob,
  callbackQueueName,
  slowStartQueueName,
} from '../../src/core/callbacks/callback-job.ts'
import { overflowQueueName, queueName } from '../../src/core/sends/send-job.ts'
import type { Timeline } from '../../src/core/sends/timeline.ts'
import { suppressionKey } from '../../src/core/suppression/suppression.ts'
import { createLogger, type Logger } from '../../src/platform/log/logger.ts'
import { parseRedisUrl } from '../../src/platform/redis/address.ts'
import { openClient } from '../../src/platform/redis/client.ts'
import { readyWithin } from '../../src/platform/redis/redis.ts'
import { shardPrefixes } from '../../src/platform/redis/shard-names.ts'
import { environmentVariables } from '../../src/platform/settings/environment.ts'
import { readSettings } from '../../src/platform/settings/settings.ts'
import { createQueue } from '../../src/queue/queue.ts'
import { closeShards, type Shard } from '../../src/queue/shard.ts'
import { openRuntime, type Runtime } from '../../src/runtime.ts'
import { startWorker } from '../../workers/worker.ts'
import { type WorkerTimes, workerTimes } from '../../workers/worker-times.ts'
import { watchAnswers } from './answers-seen.ts'
import { emptyStores, noteObjects } from './empty-stores.ts'
import { IdleServices } from './idle-services.ts'
import { freshStores, type Stores } from './stores.ts'
import { eventually } from './wait.ts'

/** Secrets of the right lengths. Anyone can read them here: for tests only. */
export const testSecrets = {
  CREDENTIALS_KEY: Buffer.from('of tests, so that anyone reads it').subarray(0, 32).toString('base64'),
  API_KEY_PEPPER: 'a pepper for tests, long enough to be one',
}

/** As workers have it. */
export const testSuppressionKey = suppressionKey(testSecrets.API_KEY_PEPPER)

export interface LogLine {
  level: string
  event: string
  requestId?: string
  [field: string]: unknown
}

export interface WorkerOptions {
  /** Over the service's own. */
  settings?: Record<string, string>
  /** In place of production's. */
  times?: Partial<WorkerTimes>
}

/** For sends that only the reconciler finds: of a resumed channel, or with lost wake-ups. */
export const soonReconciled: Partial<WorkerTimes> = { reconcileEveryMs: 200, overdueByMs: 100 }

/** For tests in which only its own wake-up may bring a worker to a send. */
export const neverReconciled: Partial<WorkerTimes> = {
  reconcileEveryMs: 3_600_000,
  reconcileAgainAfterMs: 3_600_000,
}

/** A runtime with the fields of its first shard, for tests that have one. */
export type TestRuntime = Runtime & Shard

export interface TestService {
  url: string
  stores: Stores
  /** The variables from which its settings were read. */
  environment: Record<string, string>
  /** For the test's own statements: its stores wait where an API would give up, on a machine that stands still. */
  runtime: TestRuntime
  /** The API's own. */
  api: Runtime
  /** Every line that the API and the workers logged, in order. */
  logs: LogLine[]
  /** The lines about one send. */
  logsOf(requestId: string): LogLine[]
  startWorker(name?: string, options?: WorkerOptions): Promise<{ stop(): Promise<void> }>
  stopWorkers(): Promise<void>
  stop(): Promise<void>
}

/** A service with other settings is used once. */
const usualSettings = ['ALLOWED_PRIVATE_NETWORKS', 'CLIENT_PRIVATE_NETWORKS']

const idle = new IdleServices<TestService>()
/** Stores of services that were stopped: to create new ones takes longer than to empty these. */
const idleStores: Stores[] = []

/**
 * An API in this process, with stores of its own; a test starts workers when it needs them. Services with usual settings
 * are reused by later tests, with emptied stores; of others, only the stores are.
 *
 * @param settings by their names in the environment, over defaults that suit tests.
 * @param stores if another service uses them too, or the test changes their schema.
 * @param timeouts with slow clients, if a test can't wait as long as production does.
 */
export async function startTestService(
  settings: Record<string, string> = {},
  stores?: Stores,
  timeouts = production,
): Promise<TestService> {
  const isUsual = Object.keys(settings).every((name) => usualSettings.includes(name))
  if (stores || timeouts !== production || !isUsual) {
    return stores ? await startOwn(settings, stores, timeouts) : await startOnIdleStores(settings, timeouts)
  }
  const service = idle.take(settings) ?? (await startOnIdleStores(settings, timeouts))
  return { ...service, stop: once(() => idle.giveBack(service, settings)) }
}

/** A service for all tests of the file that calls this at its top. */
export async function serviceOfFile(...given: Parameters<typeof startTestService>): Promise<TestService> {
  const service = await startTestService(...given)
  afterAll(() => service.stop())
  return service
}

async function startOnIdleStores(
  settings: Record<string, string>,
  timeouts: typeof production,
): Promise<TestService> {
  const stores = idleStores.pop() ?? (await freshStores())
  const service = await startOwn(settings, stores, timeouts, async () => {
    await emptyStores(service.runtime)
    idleStores.push(stores)
  })
  await noteObjects(service.runtime)
  return service
}

async function startOwn(
  settings: Record<string, string>,
  own: Stores,
  timeouts: typeof production,
  giveBackStores = async () => {},
): Promise<TestService> {
  const logs: LogLine[] = []
  const log = createLogger('info', collect(logs))
  const environment = {
    ...testSecrets,
    DATABASE_URL: own.databaseUrl,
    REDIS_URL: own.redisUrl,
    QUEUE_SHARDS: environmentVariables.QUEUE_SHARDS ?? '',
    HOST: '127.0.0.1',
    PORT: '0',
    RATE_LIMIT_POINTS: '1000000',
    RETRY_DELAYS_SECONDS: '0,0,0',
    DATABASE_POOL_SIZE: '4',
    ...settings,
  }
  const read = readSettings(undefined, environment)
  const REDIS_URL = parseRedisUrl(settings.REDIS_URL ?? withTimeouts(own.redisUrl))
  const api = openRuntime('api', { ...read, REDIS_URL }, log)
  if (settings.DATABASE_URL === undefined) await openConnections(api)
  if (settings.REDIS_URL === undefined)
    await Promise.all(api.shards.map(({ redis }) => readyWithin(redis, longestWaitMs)))
  const runtime = { ...api, settings: read, ...openPatientStores(own, api.shards.length, log) }
  const server = await listen(
    createApp(api, undefined, timeouts),
    api,
    { host: read.HOST, port: read.PORT },
    timeouts,
  )
  watchAnswers(server)
  const stops: (() => Promise<void>)[] = []
  const stopWorkers = async () => {
    await Promise.all(stops.splice(0).map((stop) => stop()))
  }
  return {
    url: `http://127.0.0.1:${portOf(server)}`,
    stores: own,
    environment,
    runtime,
    api,
    logs,
    logsOf: (requestId) => logs.filter((line) => line.requestId === requestId),
    async startWorker(name = 'test-worker', options = {}) {
      const settingsOfWorker = readSettings(undefined, { ...environment, ...options.settings })
      const workerRuntime = openRuntime('worker', settingsOfWorker, log)
      const worker = startWorker(workerRuntime, name, undefined, { ...workerTimes, ...options.times })
      const stop = once(async () => {
        await worker.stop()
        await workerRuntime.close()
      })
      stops.push(stop)
      await worker.ready()
      return { stop }
    },
    stopWorkers,
    stop: once(async () => {
      await stopWorkers()
      await stopListening(server, { askAgainMs: 0 })
      await api.close()
      await giveBackStores()
      await runtime.close()
    }),
  }
}

export const longestWaitMs = 20_000
const tryAgainEveryMs = 100

/** So that an API on a machine that stands still for a moment doesn't count by itself; a test of a hanging Redis passes its own URL. */
export const withTimeouts = (redisUrl: string) => `${redisUrl}?commandTimeout=${longestWaitMs}`

/** So that a file's first requests don't wait for connections. */
export async function openConnections({ db: { $client } }: Pick<Runtime, 'db'>): Promise<void> {
  const open = () => Array.from({ length: $client.options.max }, () => $client.query('select'))
  await eventually('PostgreSQL', () => Promise.all(open()).catch(() => false))
}

/** They connect when they are first used. */
function openPatientStores({ databaseUrl, redisUrl }: Stores, shardCount: number, log: Logger) {
  const db = connectDatabase(databaseUrl, {
    poolSize: 16,
    queryTimeoutMs: longestWaitMs,
    onConnectionLost: () => {},
  })
  // A service never waits so long.
  db.$client.options.connectionTimeoutMillis = longestWaitMs
  const shards = shardPrefixes(shardCount).map((prefix, index): Shard => {
    const redis = openClient({ address: parseRedisUrl(redisUrl), prefix }, tryAgainEveryMs, {
      lazyConnect: true,
      maxRetriesPerRequest: null,
    })
    redis.on('error', () => {})
    return {
      ...{ name: String(index), prefix, redis, log },
      throughBreaker: Object.assign(<T>(work: () => Promise<T>) => work(), { isOpen: () => false }),
      queue: createQueue(queueName, prefix, redis),
      overflow: createQueue(overflowQueueName, prefix, redis),
      callbacks: createQueue<CallbackJob>(callbackQueueName, prefix, redis),
      slowStarts: createQueue<CallbackJob>(slowStartQueueName, prefix, redis),
    }
  })
  return {
    ...{ ...(shards[0] as Shard), db, shards, formerShards: [] },
    async close() {
      await closeShards(shards)
      await db.$client.end()
    },
  }
}

/**
 * Waits until the send has ended and returns its timeline, as its owner sees it. Otherwise fails with the log lines of the
 * send and of errors.
 */
export async function finishedTimeline(
  service: Pick<TestService, 'url'> & Partial<Pick<TestService, 'logs'>>,
  requestId: string,
  apiKey: string,
): Promise<Timeline> {
  const mayHaveEnded = endIsLikely(service.logs, requestId)
  return await eventually(`the end of ${requestId}`, async () => {
    if (!mayHaveEnded()) return false
    const response = await fetch(`${service.url}/v1/messages/${requestId}`, {
      headers: { Authorization: `Bearer ${apiKey}` },
    })
    const timeline = (await response.json()) as Timeline
    return timeline.finishedAt !== null && timeline.finishedAt !== undefined && timeline
  }).catch((error: Error) => {
    const lines = service.logs?.filter((line) => line.requestId === requestId || line.level !== 'info') ?? []
    error.message += lines.map((line) => `\n${JSON.stringify(line)}`).join('')
    throw error
  })
}

/** The log lines of workers after which a send has ended. */
const ends = new Set(['sent', 'failed', 'uncertain'])

/** Whether to request the timeline: the end was logged, or some time has passed (other processes log elsewhere). */
function endIsLikely(logs: readonly LogLine[] = [], requestId: string): () => boolean {
  const again = logs.length > 0 ? 500 : 0
  let read = 0
  let askAgainAt = Date.now() + again
  return () => {
    const isLogged = logs.slice(read).some((line) => line.requestId === requestId && ends.has(line.event))
    read = logs.length
    if (!isLogged && Date.now() < askAgainAt) return false
    askAgainAt = Date.now() + again
    return true
  }
}

function collect(lines: LogLine[]): Writable {
  return new Writable({
    write(chunk: Buffer, _encoding, done) {
      for (const line of chunk.toString().split('\n')) if (line) lines.push(JSON.parse(line))
      done()
    },
  })
}

function once(work: () => Promise<void>): () => Promise<void> {
  let done: Promise<void> | undefined
  return () => {
    done ??= work()
    return done
  }
}
