import { setTimeout as sleep } from 'node:timers/promises'
import type { Redis } from 'ioredis'
import { createEnqueue } from '../../../src/api/send/enqueue.ts'
import { newId } from '../../../src/core/requests/new-id.ts'
import { Deadline } from '../../../src/platform/deadline.ts'
import { createLogger } from '../../../src/platform/log/logger.ts'
import { readyWithin } from '../../../src/platform/redis/redis.ts'
import { sharedLimiters } from '../../../src/platform/redis/shared-limiter.ts'
import { readSettings } from '../../../src/platform/settings/settings.ts'
import { openRuntime } from '../../../src/runtime.ts'
import { InFlight } from '../../../workers/queue/in-flight.ts'
import { faultsOfShards } from '../../../workers/queue/queue-faults.ts'
import { startQueueWorker } from '../../../workers/queue/queue-worker.ts'
import { testSecrets } from '../../support/service.ts'
import type { Stage } from '../stage.ts'
import { type Store, settingsOf } from './stores.ts'

export const full = { sends: 20_000, inFlight: 400 }
export const quick = { sends: 5000, inFlight: 400 }
const warmUpSends = 5000
const accounts = 500
const idleMs = 2000
const unlimited = { points: 1_000_000_000, seconds: 60 }
const deadlineMs = 60_000

/**
 * What Redis does for a send, by the service's own code, as fast as it can: count it for the rate limit, add its wake-up, hand
 * that out, and remove it. Nothing else is done for it, so that the processors are left to Redis. Without what it uses idle.
 *
 * @returns µs of CPU for a send, of each master.
 */
export async function redisMicros(
  { databaseUrl }: Stage,
  store: Store,
  { sends, inFlight }: typeof full,
): Promise<number[]> {
  await Promise.all(store.nodes.map((node) => node.flushdb()))
  const patient = { REDIS_URL: `${store.redisUrl}?commandTimeout=${deadlineMs}` }
  const environment = { ...testSecrets, DATABASE_URL: databaseUrl, ...settingsOf(store), ...patient }
  const settings = readSettings(undefined, { ...environment, PORT: '0', NODE_ENV: 'production' })
  const log = createLogger('silent')
  const api = openRuntime('api', settings, log)
  const worker = openRuntime('worker', settings, log)
  const limiter = sharedLimiters(api)('rate', unlimited)
  const enqueue = createEnqueue(api)
  const ends = new Map<string, () => void>()
  const follow = async (requestId: string) => {
    ends.get(requestId)?.()
    ends.delete(requestId)
    return {}
  }
  const queueWorker = startQueueWorker(worker, follow, {
    inFlight: new InFlight(),
    faults: faultsOfShards(worker.shards),
  })
  const sendAll = (count: number) => {
    let begun = 0
    const sendSome = async () => {
      while (begun < count) {
        const requestId = newId()
        const ended = new Promise<void>((resolve) => ends.set(requestId, resolve))
        await limiter.useUp(`account-${begun++ % accounts}`)
        await enqueue({ deadline: new Deadline(deadlineMs) }, [{ requestId }])
        await ended
      }
    }
    return Promise.all(Array.from({ length: inFlight }, sendSome))
  }
  const read = async () => ({
    atMs: performance.now(),
    micros: await Promise.all(store.nodes.map(cpuMicros)),
  })
  try {
    await Promise.all([queueWorker.ready(), ...api.shards.map(({ redis }) => readyWithin(redis, deadlineMs))])
    await sendAll(warmUpSends)
    const idle = await read()
    await sleep(idleMs)
    const before = await read()
    await sendAll(sends)
    const after = await read()
    const idleTimes = (after.atMs - before.atMs) / (before.atMs - idle.atMs)
    return store.nodes.map((_, node) => {
      const between = (first: typeof idle, last: typeof idle) =>
        (last.micros[node] ?? 0) - (first.micros[node] ?? 0)
      return (between(before, after) - between(idle, before) * idleTimes) / sends
    })
  } finally {
    await queueWorker.stop()
    await Promise.all([api.close(), worker.close()])
  }
}

/** By Redis' own count. */
async function cpuMicros(node: Redis): Promise<number> {
  const info = await node.info('cpu')
  const of = (name: string) => Number(new RegExp(`^${name}:([\\d.]+)`, 'm').exec(info)?.[1])
  return (of('used_cpu_user') + of('used_cpu_sys')) * 1e6
}
