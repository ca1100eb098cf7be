import type { Database } from '../../db/connection/client.ts'
import { findReadyHeads } from '../../db/delivery/due-sends.ts'
import type { WakeUp } from '../core/sends/send-job.ts'
import { type Logger, logWarningOnceAMinute } from '../platform/log/logger.ts'
import { MicroBatch } from '../platform/micro-batch.ts'
import { restoreOnShards, type Shard } from './shard.ts'

interface Queues {
  log: Logger
  shards: readonly Shard[]
}

/**
 * Adds or promotes wake-ups of sends that have none, or too late a one. Failures are only logged, because the reconciler adds
 * missing wake-ups. While Redis is away, each limited channel is tried several times a second, so that a log line for each try
 * would flood the log.
 */
export function createTolerantWake({ log, shards }: Queues, event: string) {
  return async (wakeUps: readonly WakeUp[]): Promise<void> => {
    const { failures } = await restoreOnShards(shards, wakeUps)
    for (const { error } of failures) logWarningOnceAMinute(log, event, error)
  }
}

const maxSendsPerBatch = 200
/** Heads are looked up as a precaution and rarely found, so the look-ups are gathered into few statements. */
const gatherHeadsMs = 50
const maxHeadsPerBatch = 1000

/** Wakes sends that waited for earlier ones of their lane (docs/explanation/delivery.md#lanes). */
export interface LaneWaker {
  /** Wakes the given send. */
  wake(wakeUp: WakeUp): Promise<void>
  /** Finds the head of the send's lane, and wakes it if it may go. */
  wakeHeadOf(requestId: string): Promise<void>
}

/** Failures are only logged, because the reconciler adds missing wake-ups. */
export function createWakeLanes(runtime: Queues & { db: Database }): LaneWaker {
  const { db, log, shards } = runtime
  const wake = createTolerantWake(runtime, 'lane_not_woken')
  const batch = <Item>(
    size: { maxItems: number; gatherMs?: number },
    work: (items: readonly Item[]) => Promise<unknown>,
  ) => {
    const waiting = new MicroBatch<Item, void>({
      ...size,
      // Otherwise a shard that is away would delay the wake-ups of others.
      mayOverlap: shards.length > 1,
      flush: async (items) => {
        await work(items).catch((error: unknown) => logWarningOnceAMinute(log, 'lane_not_woken', error))
        return items.map(() => undefined)
      },
    })
    return (item: Item) => waiting.add(item)
  }
  return {
    wake: batch({ maxItems: maxSendsPerBatch }, (wakeUps: readonly WakeUp[]) => wake(wakeUps)),
    wakeHeadOf: batch(
      { maxItems: maxHeadsPerBatch, gatherMs: gatherHeadsMs },
      async (requestIds: readonly string[]) => wake(await findReadyHeads(db, requestIds)),
    ),
  }
}
