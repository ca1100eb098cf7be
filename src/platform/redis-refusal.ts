import type { Redis } from 'ioredis'

type RedisError = Error & { command?: { name: string } }

const noLogin = /^(WRONGPASS|NOAUTH|NOPERM|DENIED) /

/** Whether Redis refuses the database of REDIS_URL. */
export const refusesDatabase = ({ name, command }: RedisError): boolean =>
  name === 'ReplyError' && command?.name === 'select'

/** Whether its ACL forbids a command, a key or a channel. */
export const refusesCommand = ({ message }: Error): boolean => /\bNOPERM\b/.test(message)

/** Whether it refuses the user name or the password, or wants one. */
export const refusesLogin = ({ name, message }: RedisError): boolean =>
  name === 'ReplyError' && noLogin.test(message)

export const isRefusal = (error: RedisError): boolean => refusesDatabase(error) || refusesLogin(error)

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
    if (!wasReady) setRefusal(redis, 'Redis refuses what REDIS_URL says: see redis_away in the log.')
    // As a reset would: `disconnect` could stop a Sentinel client for good.
    redis.stream.destroy()
  })
}
