import { RateLimiterMemory, type RateLimiterRes } from 'rate-limiter-flexible'
import type { Clients } from '../clients.ts'
import { MicroBatch } from '../micro-batch.ts'
import { ofKey, type RedisShard } from './shard.ts'

/** The longest delay of a Node.js timer, rounded down. A longer one fires at once, and the count would be lost. */
const longestTimerSeconds = 2_000_000
const maxUsesPerFlush = 200

export interface Count {
  isOver: boolean
  remaining: number
  resetSeconds: number
}

interface Limit {
  points: number
  seconds: number
}

interface Use {
  key: string
  /** Positive to count uses, negative to take some back. */
  change: number
  limit: Limit
}

type Counted = [consumed: number, ttlMs: number]

/**
 * Counts for many keys in one call. A refused use isn't counted, and a point refunded after its
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
    countUses(keyCount: number, ...keysAndArguments: string[]): Promise<Counted[]>
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
  const counters = shards.map(counterOn)
  return (name: string, limit: Limit): SharedLimiter => {
    const duration = Math.min(limit.seconds, longestTimerSeconds)
    const local = new RateLimiterMemory({ points: limit.points, duration })
    const count = async (key: string, change: number): Promise<Count> => {
      const use = { key: `${name}:${key}`, change, limit }
      try {
        return toCount(use, await ofKey(counters, use.key).add(use))
      } catch {
        const { consumedPoints, msBeforeNext } = await countLocally(local, key, change)
        return notBeyond(limit.seconds, toCount(use, [consumedPoints, msBeforeNext]))
      }
    }
    return {
      useUp: (key, uses = 1) => count(key, uses),
      refund: (key, uses = 1) => count(key, -uses),
      read: (key) => count(key, 0),
    }
  }
}

function counterOn({ prefix, redis, throughBreaker }: RedisShard) {
  redis.defineCommand('countUses', { lua: countScript })
  return new MicroBatch<Use, Counted>({
    maxItems: maxUsesPerFlush,
    mayOverlap: true,
    flush: (uses) => {
      const keys = uses.map(({ key }) => `${prefix}:${key}`)
      const rest = uses.flatMap(({ change, limit }) => [change, limit.seconds, limit.points].map(String))
      return throughBreaker(() => redis.countUses(uses.length, ...keys, ...rest))
    },
  })
}

/** Refused uses aren't counted here either. The library throws the count that they would have reached. */
async function countLocally(local: RateLimiterMemory, key: string, change: number): Promise<RateLimiterRes> {
  if (change <= 0) return await local.reward(key, -change)
  try {
    return await local.consume(key, change)
  } catch (error) {
    await local.reward(key, change)
    return error as RateLimiterRes
  }
}

/** A local window ends by a timer, but the library reads its rest from the system clock, which may have been set back. */
function notBeyond(seconds: number, count: Count): Count {
  return { ...count, resetSeconds: Math.min(count.resetSeconds, seconds) }
}

/** Uses beyond the limit were not counted. */
function toCount({ change, limit }: Use, [consumed, ttlMs]: Counted): Count {
  const left = limit.points - consumed
  const isOver = left < 0
  return {
    isOver,
    remaining: Math.max(isOver ? left + Math.max(change, 0) : left, 0),
    resetSeconds: Math.ceil(ttlMs / 1000),
  }
}
