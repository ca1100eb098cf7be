import { RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible'
import { keyPrefix } from '../core/send-job.ts'
import type { Runtime } from './runtime.ts'

/** What Node's timers can hold: beyond it they fire at once, and the count would be lost. */
const longestTimerSeconds = 2_000_000

type Limiter = RateLimiterRedis | RateLimiterMemory

export interface Count {
  isOver: boolean
  remaining: number
  resetSeconds: number
}

/**
 * As the library's own, but what is refused isn't counted, and what is given back after its window is over isn't
 * credited to the next one: else what is given back would not be room for exactly as much.
 */
const countScript = `
  redis.call('set', KEYS[1], 0, 'EX', ARGV[2], 'NX')
  local consumed = redis.call('incrby', KEYS[1], ARGV[1])
  if consumed > tonumber(ARGV[3]) then
    redis.call('decrby', KEYS[1], ARGV[1])
  elseif consumed < 0 then
    redis.call('set', KEYS[1], 0, 'KEEPTTL')
    consumed = 0
  end
  return {consumed, redis.call('pttl', KEYS[1])}`

export interface SharedLimiter {
  useUp(key: string): Promise<Count>
  /** @param points that were used up in vain; 0 only asks for the count. */
  giveBack(key: string, points: 0 | 1): Promise<Count>
}

/**
 * Counts what a key uses up, exactly across all processes. While Redis is away this process counts for itself, with
 * the same limit: never unlimited.
 *
 * @param name distinguishes the limiter's keys in Redis.
 */
export function createSharedLimiter(
  { redis, throughBreaker }: Pick<Runtime, 'redis' | 'throughBreaker'>,
  name: string,
  limit: { points: number; seconds: number },
): SharedLimiter {
  const options = { points: limit.points, duration: limit.seconds }
  const shared = new RateLimiterRedis({
    ...options,
    storeClient: redis,
    keyPrefix: `${keyPrefix}:${name}`,
    customIncrTtlLuaScript: countScript,
  })
  const own = new RateLimiterMemory({ ...options, duration: Math.min(limit.seconds, longestTimerSeconds) })
  const count = async (by: (limiter: Limiter) => Promise<Count>): Promise<Count> => {
    try {
      return await throughBreaker(() => by(shared))
    } catch {
      return await by(own)
    }
  }
  return {
    useUp: (key) => count((limiter) => consume(limiter, key)),
    giveBack: (key, points) => count(async (limiter) => toCount(await limiter.reward(key, points), false)),
  }
}

/** The limiter throws its count when the limit is reached, and an error when something is broken. */
async function consume(limiter: Limiter, key: string): Promise<Count> {
  try {
    return toCount(await limiter.consume(key), false)
  } catch (error) {
    if (error instanceof RateLimiterRes) return toCount(error, true)
    throw error
  }
}

function toCount({ remainingPoints, msBeforeNext }: RateLimiterRes, isOver: boolean): Count {
  return { isOver, remaining: Math.max(remainingPoints, 0), resetSeconds: Math.ceil(msBeforeNext / 1000) }
}
