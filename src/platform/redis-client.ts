import { Redis, type RedisOptions } from 'ioredis'
import { connectorToSlot } from './cluster-connector.ts'
import { slotOfKey } from './key-slot.ts'
import type { RedisAddress } from './redis-address.ts'

/** With `replyMapping` in the options, the client's replies would have another type. */
export type ClientOptions = Omit<RedisOptions, 'replyMapping'>

const sentinelAnswersWithinMs = 1000

/** Opens a client of the Redis where keys with the prefix are. It connects again and again, after each interval. */
export function openClient(
  { address, prefix }: { address: RedisAddress; prefix: string },
  reconnectEveryMs: number,
  options: ClientOptions,
): Redis {
  const retryStrategy = () => reconnectEveryMs
  const common: ClientOptions = { ...options, retryStrategy }
  if (address.kind === 'single') return new Redis(address.url, common)
  if (address.kind === 'cluster') return openAtSlot(address, slotOfKey(prefix), common, reconnectEveryMs)
  const { sentinels, sentinelLogin, master, database, login, hasTls } = address
  return new Redis({
    ...common,
    ...login,
    ...(hasTls && { tls: {}, sentinelTLS: {}, enableTLSForSentinelMode: true }),
    sentinels,
    name: master,
    db: database,
    ...(sentinelLogin.username && { sentinelUsername: sentinelLogin.username }),
    ...(sentinelLogin.password && { sentinelPassword: sentinelLogin.password }),
    // Without it, a client to which no Sentinel answers once would stay ended. ioredis' `failoverDetector` isn't used: it left
    // clients ended, too.
    sentinelRetryStrategy: retryStrategy,
    sentinelCommandTimeout: sentinelAnswersWithinMs,
    // A master that Sentinel has made a replica.
    reconnectOnError: ({ message }) => message.startsWith('READONLY'),
  })
}

function openAtSlot(
  address: Extract<RedisAddress, { kind: 'cluster' }>,
  slot: number,
  common: ClientOptions,
  reconnectEveryMs: number,
): Redis {
  return new Redis({
    ...common,
    ...address.login,
    ...(address.hasTls && { tls: {} }),
    Connector: connectorToSlot(address, slot, reconnectEveryMs),
    // The slot has another master.
    reconnectOnError: ({ message }) => /^(MOVED|READONLY) /.test(message),
  })
}
