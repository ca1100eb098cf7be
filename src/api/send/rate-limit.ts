import type { Context } from 'hono'
import type { RateLimit } from '../../../db/accounts/accounts.ts'
import { type Count, type SharedLimiter, sharedLimiters } from '../../platform/shared-limiter.ts'
import type { Runtime } from '../../runtime.ts'
import type { ApiEnv } from '../context.ts'
import { ApiError } from '../errors.ts'

export const tooManyRequests = (limit: RateLimit, { resetSeconds }: Pick<Count, 'resetSeconds'>) =>
  new ApiError(429, `More than ${limit.points} requests in ${limit.seconds} s. Slow down.`, {
    'Retry-After': String(resetSeconds),
  })

/** Counts requests for the rate limit of their account (docs/reference/api.md#rate-limit). */
export function rateLimiter(runtime: Runtime) {
  const { settings, metrics } = runtime
  const defaultLimit = { points: settings.RATE_LIMIT_POINTS, seconds: settings.RATE_LIMIT_WINDOW_SECONDS }
  const createLimiter = sharedLimiters(runtime)
  const limiters = new Map<string, SharedLimiter>()
  const limiterFor = (limit: RateLimit) => {
    const policy = `${limit.points}/${limit.seconds}`
    const limiter = limiters.get(policy) ?? createLimiter('rate', limit)
    limiters.set(policy, limiter)
    return limiter
  }

  const setHeaders = (c: Context<ApiEnv>, limit: RateLimit, { remaining, resetSeconds }: Count) => {
    const headers = c.get('headers')
    headers['RateLimit-Policy'] = `"default";q=${limit.points};w=${limit.seconds}`
    headers.RateLimit = `"default";r=${remaining};t=${resetSeconds}`
  }

  return {
    /** @throws ApiError 429 if the limit is exceeded. */
    async rateLimit(c: Context<ApiEnv>): Promise<void> {
      const caller = c.get('caller')
      const limit = caller.rateLimit ?? defaultLimit
      const count = await c.get('deadline').spend(limiterFor(limit).useUp(caller.accountId))
      c.set('hasUsedRateLimit', true)
      setHeaders(c, limit, count)
      if (!count.isOver) return
      metrics.rateLimited.inc({ limit: 'account' })
      throw tooManyRequests(limit, count)
    },

    /** Refunds the request, if it was counted. Also sets the headers, without counting. */
    async refundRateLimit(c: Context<ApiEnv>): Promise<void> {
      const { caller, deadline, hasUsedRateLimit } = c.var
      const limit = caller.rateLimit ?? defaultLimit
      const points = hasUsedRateLimit ? 1 : 0
      setHeaders(c, limit, await deadline.spend(limiterFor(limit).refund(caller.accountId, points)))
    },
  }
}
