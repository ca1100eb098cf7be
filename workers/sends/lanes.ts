import { findReadyHeads } from '../../db/delivery/due-sends.ts'
import type { WakeUp } from '../../src/core/send-job.ts'
import { logWarning } from '../../src/platform/logger.ts'
import { MicroBatch } from '../../src/platform/micro-batch.ts'
import type { Needs } from '../../src/runtime.ts'
import { type Queues, wake } from './wake.ts'

const maxSendsPerBatch = 200
/** Few are found there, and each is looked for only in case: not with a statement for every few outcomes. */
const gatherHeadsMs = 50
const maxHeadsPerBatch = 1000

/** Wakes the sends that waited for others of their lanes (docs/explanation/delivery.md#lanes). */
export interface LaneWaker {
  /** Wakes the send itself. */
  wake(wakeUp: WakeUp): Promise<void>
  /** Looks for the head of the send's lane, and wakes it where it may go. */
  wakeHeadOf(requestId: string): Promise<void>
}

/** What fails here, the reconciler makes good. */
export function laneWaker(runtime: Queues & Needs<'db' | 'log'>): LaneWaker {
  const { db, log } = runtime
  const batch = <Item>(
    size: { maxItems: number; gatherMs?: number },
    work: (items: readonly Item[]) => Promise<unknown>,
  ) => {
    const waiting = new MicroBatch<Item, void>({
      ...size,
      isItemsFault: () => false,
      flush: async (items) => {
        await work(items).catch((error: unknown) => logWarning(log, 'lane_not_woken', error))
        return items.map(() => undefined)
      },
    })
    return (item: Item) => waiting.add(item)
  }
  return {
    wake: batch({ maxItems: maxSendsPerBatch }, (wakeUps: readonly WakeUp[]) => wake(runtime, wakeUps)),
    wakeHeadOf: batch(
      { maxItems: maxHeadsPerBatch, gatherMs: gatherHeadsMs },
      async (requestIds: readonly string[]) => {
        const heads = await findReadyHeads(db, requestIds)
        if (heads.length > 0) await wake(runtime, heads)
      },
    ),
  }
}
