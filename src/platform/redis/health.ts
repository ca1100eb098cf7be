import type { Redis } from 'ioredis'
import { redisCauses, type StoreCause } from '../../core/store-causes.ts'
import { Deadline } from '../deadline.ts'
import { redisCause } from './cause.ts'
import type { RedisShard } from './shard.ts'

const answerWithinMs = 1000

/** Why a connection is away, by its last error. */
const known = new WeakMap<Redis, StoreCause>()

/** The connection failed, or Redis refused something: why. */
export function noteRedisFault(redis: Redis, error: unknown): StoreCause {
  const cause = redisCause(error, known.get(redis))
  known.set(redis, cause)
  return cause
}

/**
 * Why this process can't use the shard's Redis; undefined if a write works. It is tried, since a replica, or a Redis without disk
 * or memory, answers everything else.
 */
export async function askRedis({
  redis,
  prefix,
}: Pick<RedisShard, 'redis' | 'prefix'>): Promise<StoreCause | undefined> {
  if (redis.status !== 'ready') return known.get(redis) ?? redisCauses.unreachable
  try {
    // XX makes it change nothing, as there is no such key; Redis refuses it like any other write.
    const probe = redis.set(`${prefix}:usable`, '', 'XX')
    await new Deadline(answerWithinMs, 'Redis').spend(probe)
    known.delete(redis)
    return undefined
  } catch (error) {
    return noteRedisFault(redis, error)
  }
}
