import {
  type CallbackJob,
  callbackQueueName,
  type EndpointWakeUp,
  slowStartQueueName,
} from '../core/callbacks/callback-job.ts'
import { overflowQueueName, queueName, type WakeUp } from '../core/sends/send-job.ts'
import { childLogger, type Logger } from '../platform/log/logger.ts'
import type { Metrics, ProcessKind } from '../platform/metrics.ts'
import type { RedisAddress } from '../platform/redis/address.ts'
import { createRedisBreaker, createWaitingBreaker } from '../platform/redis/breaker.ts'
import { noteRedisFault } from '../platform/redis/health.ts'
import { connectForAdmin, connectForRequests, connectForWorkers, timeoutOf } from '../platform/redis/redis.ts'
import type { RedisShard } from '../platform/redis/shard.ts'
import { shardOfSend, shardPrefixes } from '../platform/redis/shard-names.ts'
import {
  createQueue,
  type EndpointQueues,
  restoreEndpointWakeUps,
  restoreWakeUps,
  type SendQueues,
} from './queue.ts'

/** A shard with its part of the queues. */
export interface Shard extends RedisShard, SendQueues, EndpointQueues {}

const connectRedis = { api: connectForRequests, worker: connectForWorkers, admin: connectForAdmin }
/**
 * Far longer than it takes to replace a connection, and to add the largest batch of wake-ups. It is shorter with several shards,
 * because a batch has wake-ups of other shards, too.
 */
const workersGiveUpAfterMs = { ofOne: 5000, ofSeveral: 2000 }

interface Opening {
  kind: ProcessKind
  address: RedisAddress
  log: Logger
  metrics: Metrics
}

/**
 * @param opening.kind an API and an admin process give up Redis quickly, a worker waits for it.
 * @param namesBegin where two sets of shards are open at the same time.
 */
export function openShards(opening: Opening, count: number, namesBegin = ''): Shard[] {
  const { kind, address, metrics } = opening
  const isOne = count === 1 && namesBegin === ''
  return shardPrefixes(count).map((prefix, index) => {
    const name = `${namesBegin}${index}`
    const log = isOne ? opening.log : childLogger(opening.log, { shard: name })
    const redis = connectRedis[kind]({ address, prefix, name, log, metrics })
    const ofShard = { name, log, metrics, causeOf: (error: unknown) => noteRedisFault(redis, error) }
    const giveUpAfterMs = isOne ? workersGiveUpAfterMs.ofOne : workersGiveUpAfterMs.ofSeveral
    return {
      name,
      prefix,
      redis,
      log,
      throughBreaker:
        kind === 'worker'
          ? createWaitingBreaker(redis, ofShard, giveUpAfterMs)
          : createRedisBreaker(ofShard, timeoutOf(address)),
      queue: createQueue(queueName, prefix, redis),
      overflow: createQueue(overflowQueueName, prefix, redis),
      callbacks: createQueue<CallbackJob>(callbackQueueName, prefix, redis),
      slowStarts: createQueue<CallbackJob>(slowStartQueueName, prefix, redis),
    }
  })
}

export async function closeShards(shards: readonly Shard[]): Promise<void> {
  // Before closing the queues, which would wait for Redis if it is down.
  for (const { redis } of shards) redis.disconnect()
  for (const shard of shards) for (const queue of queuesOf(shard)) await queue.close()
}

export const queuesOf = ({ queue, overflow, callbacks, slowStarts }: Shard) =>
  [queue, overflow, callbacks, slowStarts] as const

/** `wait`: its first command connects it. */
const reachable = ['ready', 'wait']

/** Whether a worker can't add wake-ups on it at the moment: it isn't connected, or its Redis answers with errors or too late. */
export const isAway = ({ redis, throughBreaker }: Shard): boolean =>
  !reachable.includes(redis.status) || throughBreaker.isOpen()

/** The result of wake-ups on several shards, of which one may be away. */
export interface Restored {
  /** How many wake-ups were added or promoted. */
  restored: number
  failures: { shard: Shard; error: unknown }[]
}

/** Restores wake-ups (`restoreWakeUps`), each on its shard. A shard that is away doesn't keep those of others. */
export function restoreOnShards(shards: readonly Shard[], wakeUps: readonly WakeUp[]): Promise<Restored> {
  return restoreOn(
    byShard(shards, wakeUps, ({ requestId }) => requestId),
    restoreWakeUps,
  )
}

/** Restores wake-ups of endpoints likewise. */
export function restoreEndpointsOnShards(
  shards: readonly Shard[],
  wakeUps: readonly EndpointWakeUp[],
): Promise<Restored> {
  return restoreOn(
    byShard(shards, wakeUps, ({ endpointId }) => endpointId),
    restoreEndpointWakeUps,
  )
}

type Part<Item> = readonly [Shard, readonly Item[]]

async function restoreOn<Item>(
  parts: Part<Item>[],
  restore: (shard: Shard, part: readonly Item[]) => Promise<number>,
): Promise<Restored> {
  const all: Restored = { restored: 0, failures: [] }
  const restoreOne = async ([shard, part]: Part<Item>) => {
    try {
      const restored = await shard.throughBreaker(() => restore(shard, part))
      all.restored += restored
    } catch (error) {
      all.failures.push({ shard, error })
    }
  }
  await Promise.all(parts.map(restoreOne))
  return all
}

function byShard<Item>(
  shards: readonly Shard[],
  wakeUps: readonly Item[],
  idOf: (wakeUp: Item) => string,
): Part<Item>[] {
  const [first] = shards
  if (wakeUps.length === 0) return []
  if (first && shards.length === 1) return [[first, wakeUps]]
  const parts = shards.map((shard) => [shard, [] as Item[]] as const)
  for (const wakeUp of wakeUps) parts[shardOfSend(idOf(wakeUp), parts.length)]?.[1].push(wakeUp)
  return parts.filter(([, part]) => part.length > 0)
}
