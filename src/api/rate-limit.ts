import type { Context } from 'hono'
import type { RateLimit } from '../../db/accounts.ts'
import type { Runtime } from '../platform/runtime.ts'
import { createSharedLimiter } from '../platform/shared-limiter.ts'
import type { ApiEnv } from './context.ts'
import { ApiError } from './errors.ts'

/** Counts an account's requests, and answers 429 beyond its limit (docs/api.md#rate-limit). */
export function rateLimiter(runtime: Runtime) {
  const { settings } = runtime
  const ours = { points: settings.RATE_LIMIT_POINTS, seconds: settings.RATE_LIMIT_WINDOW_SECONDS }
  const limiters = new Map<string, ReturnType<typeof createSharedLimiter>>()
  const limiterFor = (limit: RateLimit) => {
    const policy = `${limit.points}/${limit.seconds}`
    const limiter = limiters.get(policy) ?? createSharedLimiter(runtime, 'rate', limit)
    limiters.set(policy, limiter)
    return limiter
  }

  return async (c: Context<ApiEnv>): Promise<void> => {
    const { caller, budget } = c.var
    const limit = caller.rateLimit ?? ours
    const { isOver, remaining, resetSeconds } = await budget.spend(limiterFor(limit)(caller.accountId))
    c.header('RateLimit-Policy', `"default";q=${limit.points};w=${limit.seconds}`)
    c.header('RateLimit', `"default";r=${remaining};t=${resetSeconds}`)
    if (!isOver) return
    throw new ApiError(429, `More than ${limit.points} requests in ${limit.seconds} s. Slow down.`, {
      'Retry-After': String(resetSeconds),
    })
  }
}
