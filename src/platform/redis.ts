import { once } from 'node:events'
import { Redis, type RedisOptions } from 'ioredis'
import { type Logger, logWarning } from './logger.ts'

const reconnectEveryMs = 500

/**
 * For callers that have to answer soon: a command fails rather than waits, whether Redis is gone or hangs. ioredis isn't
 * asked to gather what comes in one tick: for that it copies all scripts that the connection knows, and BullMQ's are many.
 */
export function connectForRequests(url: string, log: Logger): Redis {
  return connect(url, log, {
    enableOfflineQueue: false,
    maxRetriesPerRequest: 1,
    commandTimeout: 300,
  })
}

/** For workers, which rather wait than fail; BullMQ blocks on such a connection. */
export function connectForWorkers(url: string, log: Logger): Redis {
  return connect(url, log, { maxRetriesPerRequest: null })
}

function connect(url: string, log: Logger, options: Omit<RedisOptions, 'replyMapping'>): Redis {
  const redis = new Redis(url, { ...options, retryStrategy: () => reconnectEveryMs })
  let away = false
  redis.on('error', (error: Error) => {
    if (!away) logWarning(log, 'redis_away', error, { tryingAgainEveryMs: reconnectEveryMs })
    away = true
  })
  redis.on('ready', () => {
    if (away) log.info({ event: 'redis_back' })
    away = false
  })
  return redis
}

/** Waits for the connection, but not for ever: an API starts without Redis, too. */
export async function readyWithin(redis: Redis, withinMs: number): Promise<void> {
  if (redis.status === 'ready') return
  const signal = AbortSignal.timeout(withinMs)
  await once(redis, 'ready', { signal }).catch(() => {})
}
