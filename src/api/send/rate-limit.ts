import type { RateLimit } from '../../../db/accounts/accounts.ts'
import { type Count, type SharedLimiter, sharedLimiters } from '../../platform/redis/shared-limiter.ts'
import type { Needs } from '../../runtime.ts'
import type { RequestState } from '../context.ts'
import { ApiError } from '../errors.ts'

export const tooManyRequests = (limit: RateLimit, { resetSeconds }: Pick<Count, 'resetSeconds'>) =>
  new ApiError('rate_limited', `More than ${limit.points} requests in ${limit.seconds} s. Slow down.`, {
    'Retry-After': String(resetSeconds),
  })

export const beyondWholeLimit = (limit: RateLimit) =>
  new ApiError(
    'batch_too_large',
    `messages: at most ${limit.points}, as many as the account may send in ${limit.seconds} s`,
  )

type Limited = Pick<RequestState, 'caller' | 'deadline' | 'headers'>

/** The parts that a limit of an account needs. */
export type Limiting = Needs<'shards' | 'metrics', 'RATE_LIMIT_POINTS' | 'RATE_LIMIT_WINDOW_SECONDS'>

/** The rate limit of an account that has none of its own. */
export const defaultLimit = ({ settings }: Limiting): RateLimit => ({
  points: settings.RATE_LIMIT_POINTS,
  seconds: settings.RATE_LIMIT_WINDOW_SECONDS,
})

/** @param name prefixes the keys in Redis. @returns a function that finds the limiter of a limit. */
export function limitersByLimit(runtime: Limiting, name: string) {
  const createLimiter = sharedLimiters(runtime)
  const limiters = new Map<string, SharedLimiter>()
  return (limit: RateLimit): SharedLimiter => {
    const policy = `${limit.points}/${limit.seconds}`
    const limiter = limiters.get(policy) ?? createLimiter(name, limit)
    limiters.set(policy, limiter)
    return limiter
  }
}

/** Sets the headers that tell a client its limit. @param policy the name of the limit. */
export function setRateLimit(
  headers: RequestState['headers'],
  policy: 'default' | 'key',
  limit: RateLimit,
  { remaining, resetSeconds }: Pick<Count, 'remaining' | 'resetSeconds'>,
): void {
  headers['RateLimit-Policy'] = `"${policy}";q=${limit.points};w=${limit.seconds}`
  headers.RateLimit = `"${policy}";r=${remaining};t=${resetSeconds}`
}

/** Counts requests for the rate limit of their account (docs/reference/api.md#rate-limit). */
export interface RateLimiter {
  /**
   * @param messages how many the request has.
   * @throws ApiError 429 if the limit is exceeded, 400 if they are more than it ever allows.
   */
  rateLimit(state: Limited, messages?: number): Promise<void>
  /** For a request that was counted, but turned out to be a repeat. */
  refundRateLimit(state: Limited, messages?: number): Promise<void>
  /** Sets the headers for a request that isn't counted. */
  showRateLimit(state: Limited): Promise<void>
}

export function createRateLimit(runtime: Limiting): RateLimiter {
  const { metrics } = runtime
  const common = defaultLimit(runtime)
  const limiterFor = limitersByLimit(runtime, 'rate')

  return {
    async rateLimit({ caller, deadline, headers }, messages = 1) {
      const limit = caller.rateLimit ?? common
      if (messages > limit.points) throw beyondWholeLimit(limit)
      const count = await deadline.spend(limiterFor(limit).useUp(caller.accountId, messages))
      setRateLimit(headers, 'default', limit, count)
      if (!count.isOver) return
      metrics.rateLimited.inc({ limit: 'account' })
      throw tooManyRequests(limit, count)
    },

    async refundRateLimit({ caller, deadline, headers }, messages = 1) {
      const limit = caller.rateLimit ?? common
      setRateLimit(
        headers,
        'default',
        limit,
        await deadline.spend(limiterFor(limit).refund(caller.accountId, messages)),
      )
    },

    async showRateLimit({ caller, deadline, headers }) {
      const limit = caller.rateLimit ?? common
      setRateLimit(headers, 'default', limit, await deadline.spend(limiterFor(limit).read(caller.accountId)))
    },
  }
}
