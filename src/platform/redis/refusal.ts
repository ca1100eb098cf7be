import type { Redis } from 'ioredis'
import { causeLine } from '../../core/store-causes.ts'
import { isRefusal, type RedisError, redisCause } from './cause.ts'

const reasons = new WeakMap<Redis, string>()

/** Why a process with this client isn't ready: its Redis can't be used until an operator changes something. */
export function refusalOf(redis: Redis): string | undefined {
  return reasons.get(redis)
}

export function setRefusal(redis: Redis, reason: string): void {
  reasons.set(redis, reason)
}

/**
 * Ends a connection on which Redis refuses what REDIS_URL says: ioredis would go on in database 0 after a SELECT that failed. A
 * client that was connected before only counts as away: its process goes on, as without Redis.
 */
export function heedRefusals(redis: Redis): void {
  let wasReady = false
  redis.on('ready', () => {
    wasReady = true
    reasons.delete(redis)
  })
  redis.on('error', (error: RedisError) => {
    if (redis.status !== 'connect' || !isRefusal(error)) return
    if (!wasReady) setRefusal(redis, `${causeLine(redisCause(error))}.`)
    // As a reset would: `disconnect` could stop a Sentinel client for good.
    redis.stream.destroy()
  })
}
