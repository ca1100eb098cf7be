import type { Context } from 'hono'
import { RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible'
import type { RateLimit } from '../../db/accounts.ts'
import { keyPrefix } from '../core/send-job.ts'
import type { Runtime } from '../platform/runtime.ts'
import type { ApiEnv } from './context.ts'
import { ApiError } from './errors.ts'

/**
 * Counts an account's requests in Redis, exactly across any number of API processes (docs/api.md#rate-limit). While
 * Redis is away each process counts for itself with the same limit: never unlimited.
 */
export function rateLimiter({ settings, redis }: Runtime) {
  const ours = { points: settings.RATE_LIMIT_POINTS, seconds: settings.RATE_LIMIT_WINDOW_SECONDS }
  const limiters = new Map<string, RateLimiterRedis>()
  const limiterFor = ({ points, seconds }: RateLimit): RateLimiterRedis => {
    const policy = `${points}/${seconds}`
    const limiter =
      limiters.get(policy) ??
      new RateLimiterRedis({
        storeClient: redis,
        keyPrefix: `${keyPrefix}:rate`,
        points,
        duration: seconds,
        insuranceLimiter: new RateLimiterMemory({ points, duration: seconds }),
      })
    limiters.set(policy, limiter)
    return limiter
  }

  return async (c: Context<ApiEnv>): Promise<void> => {
    const { caller, budget } = c.var
    const limit = caller.rateLimit ?? ours
    const counted = await budget.spend(consume(limiterFor(limit), caller.accountId))
    const resetSeconds = Math.ceil(counted.msBeforeNext / 1000)
    c.header('RateLimit-Policy', `"default";q=${limit.points};w=${limit.seconds}`)
    c.header('RateLimit', `"default";r=${Math.max(counted.remainingPoints, 0)};t=${resetSeconds}`)
    if (counted.consumedPoints > limit.points) {
      throw new ApiError(429, `More than ${limit.points} requests in ${limit.seconds} s. Slow down.`, {
        'Retry-After': String(resetSeconds),
      })
    }
  }
}

/** The limiter throws its count when the limit is reached, and an error when something is broken. */
async function consume(limiter: RateLimiterRedis, accountId: string): Promise<RateLimiterRes> {
  try {
    return await limiter.consume(accountId)
  } catch (error) {
    if (error instanceof RateLimiterRes) return error
    throw error
  }
}
