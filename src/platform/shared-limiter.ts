import { RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible'
import { keyPrefix } from '../core/send-job.ts'
import { MicroBatch } from './micro-batch.ts'
import type { Runtime } from './runtime.ts'

/** What Node's timers can hold: beyond it they fire at once, and the count would be lost. */
const longestTimerSeconds = 2_000_000
const maxUsesPerFlush = 200

type Limiter = RateLimiterRedis | RateLimiterMemory

export interface Count {
  isOver: boolean
  remaining: number
  resetSeconds: number
}

/**
 * As the library's own, but what is refused isn't counted, and what is given back after its window is over isn't
 * credited to the next one: else what is given back would not be room for exactly as much. Of several points asked for
 * at once, those that there are can be had.
 */
const countScript = `
  redis.call('set', KEYS[1], 0, 'EX', ARGV[2], 'NX')
  local consumed = redis.call('incrby', KEYS[1], ARGV[1])
  local most = math.max(tonumber(ARGV[3]), consumed - ARGV[1])
  if consumed > most then
    redis.call('decrby', KEYS[1], consumed - most)
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
  const count = async <Result>(by: (limiter: Limiter) => Promise<Result>): Promise<Result> => {
    try {
      return await throughBreaker(() => by(shared))
    } catch {
      return await by(own)
    }
  }
  const uses = new MicroBatch<string, Count>({
    maxItems: maxUsesPerFlush,
    mayOverlap: true,
    isItemsFault: () => false,
    flush: (keys) =>
      consumeAll(keys, (key, points) => count((limiter) => consume(limiter, key, points)), limit),
  })
  return {
    useUp: (key) => uses.add(key),
    giveBack: (key, points) => count(async (limiter) => toCount(await limiter.reward(key, points), 0, limit)),
  }
}

/** A point for each of the keys, those of one key in one go. @returns the counts as if they had come one by one. */
async function consumeAll(
  keys: readonly string[],
  use: (key: string, points: number) => Promise<RateLimiterRes>,
  limit: { points: number },
): Promise<Count[]> {
  const wanted = new Map<string, number>()
  for (const key of keys) wanted.set(key, (wanted.get(key) ?? 0) + 1)
  const consumed = new Map<string, RateLimiterRes>()
  const consumeOne = async ([key, points]: [string, number]) => {
    consumed.set(key, await use(key, points))
  }
  await Promise.all([...wanted].map(consumeOne))
  return keys.map((key) => {
    const behind = (wanted.get(key) ?? 1) - 1
    wanted.set(key, behind)
    return toCount(consumed.get(key) as RateLimiterRes, behind, limit)
  })
}

/** The limiter throws its count when the limit is reached, and an error when something is broken. */
async function consume(limiter: Limiter, key: string, points: number): Promise<RateLimiterRes> {
  try {
    return await limiter.consume(key, points)
  } catch (error) {
    if (error instanceof RateLimiterRes) return error
    throw error
  }
}

/** @param behind how many of the points consumed were for others, behind this one. */
function toCount(
  { consumedPoints, msBeforeNext }: RateLimiterRes,
  behind: number,
  { points }: { points: number },
): Count {
  const left = points - (consumedPoints - behind)
  return { isOver: left < 0, remaining: Math.max(left, 0), resetSeconds: Math.ceil(msBeforeNext / 1000) }
}
