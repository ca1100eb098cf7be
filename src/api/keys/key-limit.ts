import type { Context, MiddlewareHandler } from 'hono'
import type { RateLimit } from '../../../db/accounts/accounts.ts'
import type { Caller } from '../../../db/accounts/api-keys.ts'
import type { Count } from '../../platform/redis/shared-limiter.ts'
import { type ApiEnv, factory } from '../context.ts'
import { ApiError, asApiError } from '../errors.ts'
import { defaultLimit, type Limiting, limitersByLimit, setRateLimit } from '../send/rate-limit.ts'

/** How many times as wide as the rate limit of its account the limit of a key is. */
const timesAsWide = 10

export const limitOfKey = ({ points, seconds }: RateLimit): RateLimit => ({
  points: timesAsWide * points,
  seconds,
})

export function tooManyByKey(limit: RateLimit, { resetSeconds }: Pick<Count, 'resetSeconds'>): ApiError {
  const headers = { 'Retry-After': String(resetSeconds) }
  setRateLimit(headers, 'key', limit, { remaining: 0, resetSeconds })
  const { points, seconds } = limit
  return new ApiError(
    'key_rate_limited',
    `More than ${points} reads and refused requests with this API key in ${seconds} s. Slow down.`,
    headers,
  )
}

/** Counts what the rate limit of the account doesn't, for each key (docs/reference/api.md#limit-of-a-key). */
export interface KeyLimiter {
  /** Counts a read, before its work. @throws ApiError 429 if the limit is exceeded. */
  limitReads: MiddlewareHandler<ApiEnv>
  /** Counts a request that is refused with a 4xx. @returns the error to answer with: a 429 if the limit is exceeded. */
  countRefused(c: Context<ApiEnv>, error: Error): Promise<Error>
}

export function createKeyLimits(runtime: Limiting): KeyLimiter {
  const common = defaultLimit(runtime)
  const limiterFor = limitersByLimit(runtime, 'rate-of-key')

  const use = async (c: Context<ApiEnv>, { keyId, rateLimit }: Caller): Promise<ApiError | undefined> => {
    const limit = limitOfKey(rateLimit ?? common)
    const count = await c.get('deadline').spend(limiterFor(limit).useUp(keyId))
    if (!count.isOver) return undefined
    runtime.metrics.rateLimited.inc({ limit: 'key' })
    return tooManyByKey(limit, count)
  }

  return {
    limitReads: factory.createMiddleware(async (c, next) => {
      c.set('isCountedForKey', true)
      const refusal = await use(c, c.get('caller'))
      if (refusal) throw refusal
      await next()
    }),

    async countRefused(c, error) {
      const caller: Caller | undefined = c.get('caller')
      const { statusCode } = asApiError(error)
      const isRefusal = statusCode < 500 && statusCode !== 429
      if (!caller || !isRefusal || c.get('isCountedForKey')) return error
      // The client learns what is wrong with its request also where the count comes too late.
      return (await use(c, caller).catch(() => undefined)) ?? error
    },
  }
}
