import { setTimeout as sleep } from 'node:timers/promises'
import { leaveNothing } from '../../src/queue/queue.ts'
import type { Shard } from '../../src/queue/shard.ts'
import type { WorkerTimes } from '../worker-times.ts'
import { tryAgainAfterMs } from './steady-worker.ts'

export interface QueueWorker {
  ready(): Promise<unknown>
  /** Takes no new wake-ups, and resolves when the outcomes of all that is in flight are recorded. */
  stop(): Promise<void>
}

/** Practically unlimited: PostgreSQL knows what was lost with a worker, not BullMQ. */
const maxStalls = 1_000_000

export const queueWorkerOptions = ({ redis, prefix }: Shard, times: WorkerTimes) => ({
  connection: redis,
  prefix,
  lockDuration: times.jobLockMs,
  stalledInterval: times.stalledCheckMs,
  maxStalledCount: maxStalls,
  runRetryDelay: tryAgainAfterMs,
  ...leaveNothing,
})

/** How many wake-ups a worker takes from a shard. Each shard may be busier than others, but must not hoard what all slots hold. */
export function concurrencyOf(most: number, shards: number): number {
  return Math.min(most, Math.max(2, Math.ceil((2 * most) / shards)))
}

/**
 * Closes BullMQ's workers. Everything is in PostgreSQL when what is in flight has ended: if Redis is down and jobs stay, the next
 * worker finds that nothing is left to do.
 */
export async function closeWorkers(
  workers: readonly { close(): Promise<void> }[],
  shards: readonly Shard[],
  ended: () => Promise<void>,
  withinMs: number,
): Promise<void> {
  const closed = Promise.all(workers.map((worker) => worker.close()))
  await ended()
  if (await isDoneWithin(closed, withinMs)) return
  for (const { redis } of shards) redis.disconnect()
  await ended()
}

async function isDoneWithin(work: Promise<unknown>, withinMs: number): Promise<boolean> {
  const signal = new AbortController()
  const over = sleep(withinMs, false, { signal: signal.signal }).catch(() => false)
  const done = await Promise.race([work.then(() => true), over])
  signal.abort()
  return done
}
