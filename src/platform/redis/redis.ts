import { once } from 'node:events'
import { Redis } from 'ioredis'
import { causeFields } from '../log/cause-fields.ts'
import { type Logger, logWarning } from '../log/logger.ts'
import type { Metrics } from '../metrics.ts'
import type { RedisAddress } from './address.ts'
import { isRefusal } from './cause.ts'
import { type ClientOptions, openClient } from './client.ts'
import { noteRedisFault } from './health.ts'
import { heedRefusals } from './refusal.ts'
import { checkServer, hidePolicyFromBullMQ } from './server.ts'
import { unansweredForMs, watchConnection } from './watchdog.ts'

const reconnectEveryMs = 500

/** For which shard the connection is. */
interface Connecting {
  address: RedisAddress
  name: string
  prefix: string
  log: Logger
  metrics: Pick<Metrics, 'redisConnectionsReplaced' | 'redisEvicts'>
}

type Watched = Pick<Connecting, 'name' | 'log' | 'metrics'> & { waitsForMs?: number }

const defaultTimeoutMs = 300
/** How long a worker's blocking connection waits for work. A shorter wait finds a dead connection sooner, and costs an idle worker more. */
export const longestWaitSeconds = 3

/** A command fails at once while Redis is disconnected, since a request waits for it. */
const failFast = { enableOfflineQueue: false, maxRetriesPerRequest: 1 }

/**
 * For the API. redis-breaker.ts times out work as a whole, after `timeoutOf`: a timer for each command would cost more than
 * the rest of the command. ioredis's auto-pipelining is off, because it copies all scripts of the connection for each batch,
 * and BullMQ has many.
 */
export function connectForRequests(connecting: Connecting): Redis {
  return connect(connecting, failFast)
}

/** For the admin process: most commands are a library's, so each one has a time-out. */
export function connectForAdmin(connecting: Connecting): Redis {
  const redis = connect(connecting, failFast)
  redis.options.commandTimeout = timeoutOf(connecting.address)
  return redis
}

/** Time-out in ms: `commandTimeout` of the URL. ioredis itself ignores that, because it reads it as text. */
export function timeoutOf({ commandTimeoutMs }: RedisAddress): number {
  return commandTimeoutMs ?? defaultTimeoutMs
}

/**
 * For workers, whose commands wait for Redis instead of failing. Each BullMQ worker waits for wake-ups on a duplicate of this
 * connection, which can run no other command meanwhile.
 */
export function connectForWorkers(connecting: Connecting): Redis {
  const redis = connect(connecting, { maxRetriesPerRequest: null })
  hidePolicyFromBullMQ(redis)
  redis.duplicate = (options) => {
    const blocking = new Redis({ ...redis.options, ...options } as ClientOptions)
    hidePolicyFromBullMQ(blocking)
    watch(blocking, { ...connecting, waitsForMs: longestWaitSeconds * 1000 })
    return blocking
  }
  return redis
}

function connect(connecting: Connecting, options: ClientOptions): Redis {
  const { name, log, metrics } = connecting
  const redis = openClient(connecting, reconnectEveryMs, { ...options, connectTimeout: unansweredForMs })
  metrics.redisConnectionsReplaced.inc({ shard: name }, 0)
  let away = false
  let refused = false
  redis.on('error', (error: Error) => {
    const fields = { tryingAgainEveryMs: reconnectEveryMs, ...causeFields(noteRedisFault(redis, error)) }
    // A refusal is another reason than a Redis that was down before it.
    if (!away || (isRefusal(error) && !refused)) logWarning(log, 'redis_away', error, fields)
    away = true
    refused ||= isRefusal(error)
  })
  redis.on('connect', () => gatherWrites(redis.stream))
  redis.on('ready', () => {
    if (away) log.info({ event: 'redis_back' })
    away = false
    refused = false
  })
  checkServer(redis, connecting)
  watch(redis, connecting)
  return redis
}

function watch(redis: Redis, { name, log, metrics, waitsForMs }: Watched): void {
  watchConnection(redis, {
    waitsForMs,
    onReplaced: () => {
      const connection = waitsForMs === undefined ? 'commands' : 'wake_ups'
      logWarning(log, 'redis_connection_replaced', new Error('Redis no longer answered on it'), {
        connection,
      })
      metrics.redisConnectionsReplaced.inc({ shard: name })
    },
  })
  heedRefusals(redis)
  connectAfterEnd(redis, log)
}

/**
 * Connects again if ioredis has ended the connection by itself, as it does if it was closed while Sentinels were asked. It would
 * never connect again.
 */
function connectAfterEnd(redis: Redis, log: Logger): void {
  let isClosed = false
  const { connect, disconnect, quit } = redis
  // Not the event `connecting`, which comes a tick later: by then the connection may have been closed.
  redis.connect = (...args: Parameters<typeof connect>) => {
    isClosed = false
    return connect.apply(redis, args)
  }
  redis.disconnect = (reconnect) => {
    if (reconnect !== true) isClosed = true
    disconnect.call(redis, reconnect)
  }
  redis.quit = (...args: Parameters<typeof quit>) => {
    isClosed = true
    return quit.apply(redis, args)
  }
  redis.on('end', () => {
    if (isClosed) return
    log.warn({ event: 'redis_connection_ended', tryingAgainEveryMs: reconnectEveryMs })
    setTimeout(
      () => redis.status === 'end' && !isClosed && redis.connect().catch(() => {}),
      reconnectEveryMs,
    ).unref()
  })
}

/**
 * Sends the commands of one tick in one packet, as Node.js does with HTTP responses. Otherwise the first command would go
 * alone, and wake Redis twice.
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

/** Waits for the connection, at most `withinMs`: an API also starts without Redis. */
export async function readyWithin(redis: Redis, withinMs: number): Promise<void> {
  if (redis.status === 'ready') return
  const signal = AbortSignal.timeout(withinMs)
  await once(redis, 'ready', { signal }).catch(() => {})
}
