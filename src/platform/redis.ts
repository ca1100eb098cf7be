import { once } from 'node:events'
import { Redis, type RedisOptions } from 'ioredis'
import { type Logger, logWarning } from './logger.ts'

const reconnectEveryMs = 500

const defaultTimeoutMs = 300
/** A connection that was taken, but on which nothing is said for so long, is made anew. */
const silentForMs = 2000

/** For callers that have to answer soon: a command fails rather than waits for a Redis that is gone. */
const impatient = { enableOfflineQueue: false, maxRetriesPerRequest: 1 }

/**
 * For the API. Work that takes longer than `timeoutOf` is given up as a whole (redis-breaker.ts): a timer for each command
 * would cost more than the rest of it. ioredis isn't asked to gather what comes in one tick: for that it copies all
 * scripts that the connection knows, and BullMQ's are many.
 */
export function connectForRequests(url: string, log: Logger): Redis {
  return connect(url, log, impatient)
}

/** For the admin process, whose commands are mostly a library's: each is given up by itself. */
export function connectForAdmin(url: string, log: Logger): Redis {
  const redis = connect(url, log, impatient)
  redis.options.commandTimeout = timeoutOf(redis)
  return redis
}

/** When to give up a Redis that hangs, in ms: its URL's `commandTimeout`, which ioredis takes for text and doesn't heed. */
export function timeoutOf({ options }: Redis): number {
  return Number(options.commandTimeout) || defaultTimeoutMs
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
  redis.on('connect', () => {
    const { stream } = redis
    gatherWrites(stream)
    const isSilent = () => redis.stream === stream && redis.status !== 'ready'
    const hangUp = () => isSilent() && stream.destroy(new Error('Redis takes connections, but says nothing'))
    setTimeout(hangUp, silentForMs).unref()
  })
  redis.on('ready', () => {
    if (away) log.info({ event: 'redis_back' })
    away = false
  })
  return redis
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
