import { setTimeout as sleep } from 'node:timers/promises'
import type { Redis } from 'ioredis'
import { Deadline } from './deadline.ts'
import { type Logger, logWarning } from './logger.ts'
import type { Metrics } from './metrics.ts'

const failuresToOpen = 2
const tryAgainAfterMs = 1000
const lookEveryMs = 50

/** Does work that needs Redis, or fails at once while Redis is known to be away. */
export type RedisBreaker = <T>(work: () => Promise<T>) => Promise<T>

/** Thrown instead of asking a Redis that failed a moment ago. */
export class RedisGivenUp extends Error {
  constructor() {
    super(`Redis failed; it is asked again ${tryAgainAfterMs} ms later`)
  }
}

/**
 * So that a Redis that hangs costs its time-out once a second, and not every request. Work that is refused for a
 * reason of its own must not throw: it would count as a failure of Redis.
 *
 * @param timeoutMs after which work has failed, all its commands together.
 */
export function createRedisBreaker(
  log: Logger,
  metrics: Pick<Metrics, 'redisBreakerOpen'>,
  timeoutMs: number,
): RedisBreaker {
  let failuresInARow = 0
  let isOpen = false
  /** As `performance.now()` tells: by a clock that is set back, Redis wouldn't be asked until the old time comes again. */
  let openUntil = 0
  let trying: Promise<unknown> | undefined
  const ask = <T>(work: () => Promise<T>) => new Deadline(timeoutMs, 'Redis').spend(work())
  const open = (error: unknown) => {
    // Logged once, though every try that fails opens it again.
    if (!isOpen) logWarning(log, 'redis_given_up', error, { tryingAgainEveryMs: tryAgainAfterMs })
    isOpen = true
    openUntil = performance.now() + tryAgainAfterMs
    metrics.redisBreakerOpen.set(1)
  }
  const close = () => {
    isOpen = false
    failuresInARow = 0
    metrics.redisBreakerOpen.set(0)
    log.info({ event: 'redis_taken_up' })
  }
  const askWhileClosed = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      const result = await ask(work)
      failuresInARow = 0
      return result
    } catch (error) {
      // What was asked before it opened says nothing new.
      if (!isOpen && ++failuresInARow >= failuresToOpen) open(error)
      throw error
    }
  }
  const tryAgain = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      const result = await ask(work)
      close()
      return result
    } catch (error) {
      open(error)
      throw error
    } finally {
      trying = undefined
    }
  }
  return async (work) => {
    // Whoever comes during a try goes by what comes of it.
    if (trying) await trying.catch(() => {})
    if (!isOpen) return await askWhileClosed(work)
    if (performance.now() < openUntil) throw new RedisGivenUp()
    const tried = tryAgain(work)
    trying = tried
    return await tried
  }
}

/**
 * For workers: work first waits for a Redis that is away. What is asked for meanwhile would pile up in the client, to be done
 * when nobody waits for it any more.
 */
export function createWaitingBreaker(
  redis: Redis,
  log: Logger,
  metrics: Pick<Metrics, 'redisBreakerOpen'>,
  timeoutMs: number,
): RedisBreaker {
  const throughBreaker = createRedisBreaker(log, metrics, timeoutMs)
  let waiting: Promise<void> | undefined
  return (work) =>
    throughBreaker(async () => {
      if (redis.status !== 'ready') {
        waiting ??= waitForRedis(redis, timeoutMs).finally(() => {
          waiting = undefined
        })
        await waiting
      }
      return await work()
    })
}

async function waitForRedis(redis: Redis, withinMs: number): Promise<void> {
  const until = performance.now() + withinMs
  while (redis.status !== 'ready' && performance.now() < until) await sleep(lookEveryMs)
  if (redis.status !== 'ready') throw new Error('Redis is away')
}
