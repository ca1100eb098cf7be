import {
  type RateLimiterAbstract,
  RateLimiterMemory,
  RateLimiterRedis,
  RateLimiterRes,
} from 'rate-limiter-flexible'
import type { Clients } from './clients.ts'
import { MicroBatch } from './micro-batch.ts'
import { ofKey, type RedisShard } from './redis-shard.ts'

/** The longest delay of a Node.js timer, rounded down. A longer one fires at once, and the count would be lost. */
const longestTimerSeconds = 2_000_000
const maxUsesPerFlush = 200

export interface Count {
  isOver: boolean
  remaining: number
  resetSeconds: number
}

/** The arguments that rate-limiter-flexible passes to its client; `limit` is the points of a whole window. */
type Use = [key: string, points: string, seconds: string, limit: string, ...rest: string[]]

/**
 * Like the library's script, but for many keys in one call. A refused use isn't counted, and a point refunded after its
 * window has ended isn't credited to the next window: a refund must free exactly one use.
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
  /** Counts so many uses, by default one; none of them if not all are left. */
  useUp(key: string, uses?: number): Promise<Count>
  /** Takes so many uses back, by default one. */
  refund(key: string, uses?: number): Promise<Count>
  /** Counts no use. */
  read(key: string): Promise<Count>
}

/**
 * Counts the uses of keys, exactly across all processes; concurrent calls share one command a shard. While a shard's Redis is
 * down, this process counts the keys of that shard by itself with the same limit, so that uses are never unlimited.
 *
 * @returns a function that creates a limiter; its name prefixes its keys in Redis.
 */
export function sharedLimiters({ shards }: Pick<Clients, 'shards'>) {
  const uses = shards.map(usesOn)
  /** In place of the library's Redis client, which would send one command per key. */
  const storeClient = { defineCommand() {}, rlflxIncr: (use: Use) => ofKey(uses, use[0]).add(use) }

  return (name: string, limit: { points: number; seconds: number }): SharedLimiter => {
    const options = { points: limit.points, duration: limit.seconds }
    const shared = new RateLimiterRedis({ ...options, storeClient, keyPrefix: name })
    const local = new RateLimiterMemory({
      ...options,
      duration: Math.min(limit.seconds, longestTimerSeconds),
    })
    const count = async (
      by: (limiter: RateLimiterAbstract) => Promise<RateLimiterRes>,
      uses = 0,
    ): Promise<Count> => {
      try {
        return toCount(await by(shared), limit, uses)
      } catch {
        return notBeyond(limit.seconds, toCount(await by(local), limit, uses))
      }
    }
    return {
      useUp: (key, uses = 1) => count((limiter) => consume(limiter, key, uses), uses),
      refund: (key, uses = 1) => count((limiter) => limiter.reward(key, uses)),
      read: (key) => count((limiter) => limiter.reward(key, 0)),
    }
  }
}

function usesOn({ prefix, redis, throughBreaker }: RedisShard) {
  redis.defineCommand('countUses', { lua: countScript })
  return new MicroBatch<Use, [consumed: number, ttlMs: number]>({
    maxItems: maxUsesPerFlush,
    mayOverlap: true,
    flush: (batch) => {
      const keys = batch.map(([key]) => `${prefix}:${key}`)
      const rest = batch.flatMap(([, points, seconds, limit]) => [points, seconds, limit])
      return throughBreaker(() => redis.countUses(batch.length, ...keys, ...rest))
    },
  })
}

/** The library throws the count when the limit is reached, and an error when the store fails. */
async function consume(limiter: RateLimiterAbstract, key: string, uses: number): Promise<RateLimiterRes> {
  try {
    return await limiter.consume(key, uses)
  } catch (error) {
    if (!(error instanceof RateLimiterRes)) throw error
    // The local one has counted them.
    if (limiter instanceof RateLimiterMemory) await limiter.reward(key, uses)
    return error
  }
}

/** A local window ends by a timer, but the library reads its rest from the system clock, which may have been set back. */
function notBeyond(seconds: number, count: Count): Count {
  return { ...count, resetSeconds: Math.min(count.resetSeconds, seconds) }
}

/** @param uses those that were to be counted now; if they are beyond the limit, none was. */
function toCount(
  { consumedPoints, msBeforeNext }: RateLimiterRes,
  { points }: { points: number },
  uses: number,
): Count {
  const left = points - consumedPoints
  const isOver = left < 0
  return {
    isOver,
    remaining: Math.max(isOver ? left + uses : left, 0),
    resetSeconds: Math.ceil(msBeforeNext / 1000),
  }
}
