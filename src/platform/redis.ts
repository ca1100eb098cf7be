import { once } from 'node:events'
import { Redis, type RedisOptions } from 'ioredis'
import { type Logger, logWarning } from './logger.ts'
import type { Metrics } from './metrics.ts'
import { redisAdvice } from './redis-advice.ts'
import { silentForMs, watchConnection } from './redis-watchdog.ts'

const reconnectEveryMs = 500

/** Else its answers would have another type. */
type Options = Omit<RedisOptions, 'replyMapping'>
type RedisMetrics = Pick<Metrics, 'redisConnectionsReplaced'>

interface Watched {
  log: Logger
  metrics: RedisMetrics
  waitsForMs?: number
}

const defaultTimeoutMs = 300
/** How long a worker's waiting connection may wait for work, in seconds. The shorter, the sooner it is known to be dead. */
export const longestWaitSeconds = 2

/** For callers that have to answer soon: a command fails rather than waits for a Redis that is gone. */
const withShortTimeouts = { enableOfflineQueue: false, maxRetriesPerRequest: 1 }

/**
 * For the API. Work that takes longer than `timeoutOf` is given up as a whole (redis-breaker.ts): a timer for each command
 * would cost more than the rest of it. ioredis isn't asked to gather what comes in one tick: for that it copies all
 * scripts that the connection knows, and BullMQ's are many.
 */
export function connectForRequests(url: string, log: Logger, metrics: RedisMetrics): Redis {
  return connect(url, log, metrics, withShortTimeouts)
}

/** For the admin process, whose commands are mostly a library's: each is given up by itself. */
export function connectForAdmin(url: string, log: Logger, metrics: RedisMetrics): Redis {
  const redis = connect(url, log, metrics, withShortTimeouts)
  redis.options.commandTimeout = timeoutOf(redis)
  return redis
}

/** When to give up a Redis that hangs, in ms: its URL's `commandTimeout`, which ioredis takes for text and doesn't heed. */
export function timeoutOf({ options }: Redis): number {
  return Number(options.commandTimeout) || defaultTimeoutMs
}

/**
 * For workers, which rather wait than fail. Each of BullMQ's workers waits for wake-ups on a duplicate of it, which answers to
 * nothing else meanwhile.
 */
export function connectForWorkers(url: string, log: Logger, metrics: RedisMetrics): Redis {
  const redis = connect(url, log, metrics, { maxRetriesPerRequest: null })
  redis.duplicate = (options) => {
    const waiting = new Redis({ ...redis.options, ...options } as Options)
    watch(waiting, { log, metrics, waitsForMs: longestWaitSeconds * 1000 })
    return waiting
  }
  return redis
}

function connect(url: string, log: Logger, metrics: RedisMetrics, options: Options): Redis {
  const redis = new Redis(url, {
    ...options,
    connectTimeout: silentForMs,
    retryStrategy: () => reconnectEveryMs,
  })
  let away = false
  redis.on('error', (error: Error) => {
    const fields = { tryingAgainEveryMs: reconnectEveryMs, check: redisAdvice(error) }
    if (!away) logWarning(log, 'redis_away', error, fields)
    away = true
  })
  redis.on('connect', () => gatherWrites(redis.stream))
  redis.on('ready', () => {
    if (away) log.info({ event: 'redis_back' })
    away = false
  })
  watch(redis, { log, metrics })
  return redis
}

function watch(redis: Redis, { log, metrics, waitsForMs }: Watched): void {
  watchConnection(redis, {
    waitsForMs,
    onReplaced: () => {
      const connection = waitsForMs === undefined ? 'commands' : 'wake_ups'
      logWarning(log, 'redis_connection_replaced', new Error('Redis no longer answered on it'), {
        connection,
      })
      metrics.redisConnectionsReplaced.inc()
    },
  })
}

/**
 * What is written in one turn goes out in one piece, as Node.js does it with what an HTTP server answers. Otherwise the first
 * command goes alone, and wakes a Redis that has to be woken again for the others.
 */
function gatherWrites(stream: Redis['stream']): void {
  const write = stream.write.bind(stream) as typeof stream.write
  stream.write = ((...written: Parameters<typeof write>) => {
    if (stream.writableCorked === 0) {
      stream.cork()
      process.nextTick(() => stream.uncork())
    }
    return write(...written)
  }) as typeof stream.write
}

/** Waits for the connection, but not for ever: an API starts without Redis, too. */
export async function readyWithin(redis: Redis, withinMs: number): Promise<void> {
  if (redis.status === 'ready') return
  const signal = AbortSignal.timeout(withinMs)
  await once(redis, 'ready', { signal }).catch(() => {})
}
