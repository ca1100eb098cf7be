import { findReadyHeads } from '../../db/delivery/due-sends.ts'
import type { WakeUp } from '../../src/core/send-job.ts'
import { logWarningOnceAMinute } from '../../src/platform/logger.ts'
import { MicroBatch } from '../../src/platform/micro-batch.ts'
import type { Needs } from '../../src/runtime.ts'
import { type Queues, tolerantWaker } from './wake.ts'

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
export function laneWaker(runtime: Queues & Needs<'db' | 'log'>): LaneWaker {
  const { db, log, shards } = runtime
  const wake = tolerantWaker(runtime, 'lane_not_woken')
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
