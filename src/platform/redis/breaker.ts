import { setTimeout as sleep } from 'node:timers/promises'
import type { Redis } from 'ioredis'
import type { StoreCause } from '../../core/store-causes.ts'
import { Deadline } from '../deadline.ts'
import { causeFields } from '../log/cause-fields.ts'
import { type Logger, logWarning } from '../log/logger.ts'
import type { Metrics } from '../metrics.ts'
import { redisCause } from './cause.ts'

export const failuresToOpen = 2
export const tryAgainAfterMs = 1000
const pollEveryMs = 50

/** Runs work that needs Redis, or fails at once while Redis is known to be down. */
export interface RedisBreaker {
  <T>(work: () => Promise<T>): Promise<T>
  /** From some failures in a row until a try succeeds. Only work is tried, so somebody has to go on bringing some. */
  isOpen(): boolean
}

/** Thrown instead of calling Redis while the breaker is open. */
export class RedisGivenUp extends Error {
  constructor() {
    super(`Redis failed; it is tried again after ${tryAgainAfterMs} ms`)
  }
}

/** The shard of the breaker. */
interface OfShard {
  name: string
  log: Logger
  metrics: Pick<Metrics, 'redisBreakerOpen'>
  /** Why the shard's Redis failed, by an error of the work. */
  causeOf?: (error: unknown) => StoreCause
}

/**
 * A circuit breaker: while Redis hangs, one try a second waits for the time-out, instead of every request. Anything that the
 * work throws counts as a failure of Redis, so it must return its own refusals.
 *
 * @param timeoutMs for the work as a whole, all its commands together.
 */
export function createRedisBreaker(
  { name, log, metrics, causeOf = redisCause }: OfShard,
  timeoutMs: number,
): RedisBreaker {
  metrics.redisBreakerOpen.set({ shard: name }, 0)
  let failuresInARow = 0
  let isOpen = false
  /** On the monotonic clock of `performance.now()`: setting the system clock back must not keep the breaker open. */
  let openUntil = 0
  let trying: Promise<unknown> | undefined
  const run = <T>(work: () => Promise<T>) => new Deadline(timeoutMs, 'Redis').spend(work())
  const open = (error: unknown) => {
    // Logged only the first time: every failed try opens it again.
    if (!isOpen)
      logWarning(log, 'redis_given_up', error, {
        tryingAgainEveryMs: tryAgainAfterMs,
        ...causeFields(causeOf(error)),
      })
    isOpen = true
    openUntil = performance.now() + tryAgainAfterMs
    metrics.redisBreakerOpen.set({ shard: name }, 1)
  }
  const close = () => {
    isOpen = false
    failuresInARow = 0
    metrics.redisBreakerOpen.set({ shard: name }, 0)
    log.info({ event: 'redis_taken_up' })
  }
  const runWhileClosed = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      const result = await run(work)
      failuresInARow = 0
      return result
    } catch (error) {
      // A failure of work that began before the breaker opened is no news.
      if (!isOpen && ++failuresInARow >= failuresToOpen) open(error)
      throw error
    }
  }
  const tryAgain = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      const result = await run(work)
      close()
      return result
    } catch (error) {
      open(error)
      throw error
    } finally {
      trying = undefined
    }
  }
  const throughBreaker = async <T>(work: () => Promise<T>): Promise<T> => {
    // Work that comes during a try waits for its result.
    if (trying) await trying.catch(() => {})
    if (!isOpen) return await runWhileClosed(work)
    if (performance.now() < openUntil) throw new RedisGivenUp()
    const tried = tryAgain(work)
    trying = tried
    return await tried
  }
  return Object.assign(throughBreaker, { isOpen: () => isOpen })
}

/**
 * For workers: work first waits until Redis is connected. Commands sent before that would pile up in the client, and run
 * when their callers have given up.
 */
export function createWaitingBreaker(redis: Redis, ofShard: OfShard, timeoutMs: number): RedisBreaker {
  const throughBreaker = createRedisBreaker(ofShard, timeoutMs)
  let waiting: Promise<void> | undefined
  const onceReady = <T>(work: () => Promise<T>): Promise<T> =>
    throughBreaker(async () => {
      if (redis.status !== 'ready') {
        waiting ??= waitForRedis(redis, timeoutMs).finally(() => {
          waiting = undefined
        })
        await waiting
      }
      return await work()
    })
  return Object.assign(onceReady, { isOpen: throughBreaker.isOpen })
}

async function waitForRedis(redis: Redis, withinMs: number): Promise<void> {
  const until = performance.now() + withinMs
  while (redis.status !== 'ready' && performance.now() < until) await sleep(pollEveryMs)
  if (redis.status !== 'ready') throw new Error('Redis is away')
}
