import { Redis, type RedisOptions } from 'ioredis'
import type { RedisAddress } from './address.ts'
import { connectorToSlot } from './cluster-connector.ts'
import { slotOfKey } from './key-slot.ts'

/** The options have no `replyMapping`: the client's replies would have another type. */
export type ClientOptions = Omit<RedisOptions, 'replyMapping'>

const sentinelAnswersWithinMs = 1000
const isOfReplica = /^READONLY /
/** ioredis connects again, and sends the refused command on the new connection. */
const sendAgain = 2

/** Opens a client of the Redis where keys with the prefix are. It connects again and again, after each interval. */
export function openClient(
  { address, prefix }: { address: RedisAddress; prefix: string },
  reconnectEveryMs: number,
  options: ClientOptions,
): Redis {
  const retryStrategy = () => reconnectEveryMs
  const common: ClientOptions = { ...options, retryStrategy }
  if (address.kind === 'single') {
    // Its address may have moved to another Redis.
    return new Redis(address.url, { ...common, reconnectOnError: ({ message }) => isOfReplica.test(message) })
  }
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
    reconnectOnError: reconnectAt(isOfReplica, common),
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
    // The slot has another master, or is on its way to one.
    reconnectOnError: reconnectAt(/^(MOVED|ASK|TRYAGAIN|READONLY) /, common),
  })
}

/**
 * Connects again at a refusal that the new master won't give. A client that waits for Redis then sends the command there, since
 * it was not executed: BullMQ would take the error for the wake-up's own, and remove the wake-up.
 */
function reconnectAt(refusal: RegExp, { enableOfflineQueue: waits = true }: ClientOptions) {
  return ({ message }: Error) => refusal.test(message) && (waits ? sendAgain : true)
}
