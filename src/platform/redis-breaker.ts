import { ConsecutiveBreaker, circuitBreaker, handleAll } from 'cockatiel'
import type { Logger } from './logger.ts'
import type { Metrics } from './metrics.ts'
import { WaitBudget } from './wait-budget.ts'

const failuresToOpen = 2
const tryAgainAfterMs = 1000

/** Does work that needs Redis, or fails at once while Redis is known to be away. */
export type RedisBreaker = <T>(work: () => Promise<T>) => Promise<T>

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
  const breaker = circuitBreaker(handleAll, {
    halfOpenAfter: tryAgainAfterMs,
    breaker: new ConsecutiveBreaker(failuresToOpen),
  })
  let givenUp = false
  breaker.onBreak(() => {
    // Told once, though every try that fails breaks it anew.
    if (!givenUp) log.warn({ event: 'redis_given_up', tryingAgainEveryMs: tryAgainAfterMs })
    givenUp = true
    metrics.redisBreakerOpen.set(1)
  })
  breaker.onReset(() => {
    givenUp = false
    metrics.redisBreakerOpen.set(0)
    log.info({ event: 'redis_taken_up' })
  })
  return (work) => breaker.execute(() => new WaitBudget(timeoutMs, 'Redis').spend(work()))
}
