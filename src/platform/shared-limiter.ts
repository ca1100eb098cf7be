import {
  type RateLimiterAbstract,
  RateLimiterMemory,
  RateLimiterRedis,
  RateLimiterRes,
} from 'rate-limiter-flexible'
import { keyPrefix } from '../core/send-job.ts'
import type { Clients } from './clients.ts'
import { MicroBatch } from './micro-batch.ts'

/** What Node's timers can hold: beyond it they fire at once, and the count would be lost. */
const longestTimerSeconds = 2_000_000
const maxUsesPerFlush = 200

export interface Count {
  isOver: boolean
  remaining: number
  resetSeconds: number
}

/** As the library gives it to its client: key, points, seconds of the window, and the points that there are in it. */
type Use = [key: string, points: string, seconds: string, limit: string, ...rest: string[]]

/**
 * As the library's own, but for many keys at once, one after the other; what is refused isn't counted, and what is given
 * back after its window is over isn't credited to the next one: else what is given back would not be room for exactly as
 * much.
 */
const countScript = `
  local counts = {}
  for i, key in ipairs(KEYS) do
    local points, seconds, limit = tonumber(ARGV[3 * i - 2]), ARGV[3 * i - 1], tonumber(ARGV[3 * i])
    redis.call('set', key, 0, 'EX', seconds, 'NX')
    local consumed = redis.call('incrby', key, points)
    if points > 0 and consumed > limit then
      redis.call('decrby', key, points)
    elseif consumed < 0 then
      redis.call('set', key, 0, 'KEEPTTL')
      consumed = 0
    end
    counts[i] = {consumed, redis.call('pttl', key)}
  end
  return counts`

declare module 'ioredis' {
  interface Redis {
    countUses(keyCount: number, ...keysAndArguments: string[]): Promise<[consumed: number, ttlMs: number][]>
  }
}

export interface SharedLimiter {
  useUp(key: string): Promise<Count>
  /** @param points that were used up in vain; 0 only asks for the count. */
  giveBack(key: string, points: 0 | 1): Promise<Count>
}

/**
 * Counts what keys use up, exactly across all processes, in one command for all that is asked for at the same time. While
 * Redis is away this process counts for itself, with the same limit: never unlimited.
 *
 * @returns a maker of limiters. Their names distinguish their keys in Redis.
 */
export function sharedLimiters({ redis, throughBreaker }: Pick<Clients, 'redis' | 'throughBreaker'>) {
  redis.defineCommand('countUses', { lua: countScript })
  const uses = new MicroBatch<Use, [consumed: number, ttlMs: number]>({
    maxItems: maxUsesPerFlush,
    mayOverlap: true,
    isItemsFault: () => false,
    flush: (batch) => {
      const keys = batch.map(([key]) => key)
      const rest = batch.flatMap(([, points, seconds, limit]) => [points, seconds, limit])
      return throughBreaker(() => redis.countUses(batch.length, ...keys, ...rest))
    },
  })
  /** Stands for the client of a limiter, which would send a command for each key. */
  const storeClient = { defineCommand() {}, rlflxIncr: (use: Use) => uses.add(use) }

  return (name: string, limit: { points: number; seconds: number }): SharedLimiter => {
    const options = { points: limit.points, duration: limit.seconds }
    const shared = new RateLimiterRedis({ ...options, storeClient, keyPrefix: `${keyPrefix}:${name}` })
    const own = new RateLimiterMemory({ ...options, duration: Math.min(limit.seconds, longestTimerSeconds) })
    const count = async (by: (limiter: RateLimiterAbstract) => Promise<RateLimiterRes>): Promise<Count> => {
      try {
        return toCount(await by(shared), limit)
      } catch {
        return notBeyond(limit.seconds, toCount(await by(own), limit))
      }
    }
    return {
      useUp: (key) => count((limiter) => consume(limiter, key)),
      giveBack: (key, points) => count((limiter) => limiter.reward(key, points)),
    }
  }
}

/** The limiter throws its count when the limit is reached, and an error when something is broken. */
async function consume(limiter: RateLimiterAbstract, key: string): Promise<RateLimiterRes> {
  try {
    return await limiter.consume(key)
  } catch (error) {
    if (error instanceof RateLimiterRes) return error
    throw error
  }
}

/** What is counted here ends by a timer, but is told by the wall clock, which may have been set back meanwhile. */
function notBeyond(seconds: number, count: Count): Count {
  return { ...count, resetSeconds: Math.min(count.resetSeconds, seconds) }
}

function toCount({ consumedPoints, msBeforeNext }: RateLimiterRes, { points }: { points: number }): Count {
  const left = points - consumedPoints
  return { isOver: left < 0, remaining: Math.max(left, 0), resetSeconds: Math.ceil(msBeforeNext / 1000) }
}
