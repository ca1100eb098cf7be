import { findNextInLanes } from '../db/lanes.ts'
import { logWarning } from '../src/platform/logger.ts'
import { MicroBatch } from '../src/platform/micro-batch.ts'
import { addWakeUps } from '../src/platform/queue.ts'
import type { Runtime } from '../src/platform/runtime.ts'

const maxSendsPerBatch = 200

/** Wakes the sends that waited for others of their lanes (docs/delivery.md#lanes). */
export interface LaneWaker {
  /** Wakes the send itself. */
  wake(requestId: string): Promise<void>
  /** Looks for the head of the send's lane, and wakes it where it is due. */
  wakeHeadOf(requestId: string): Promise<void>
}

/** What fails here, the reconciler makes good. */
export function laneWaker({ db, queue, log }: Runtime): LaneWaker {
  const batch = (work: (requestIds: readonly string[]) => Promise<void>) => {
    const waiting = new MicroBatch<string, void>({
      maxItems: maxSendsPerBatch,
      isItemsFault: () => false,
      flush: async (requestIds) => {
        await work(requestIds).catch((error: unknown) => logWarning(log, 'lane_not_woken', error))
        return requestIds.map(() => undefined)
      },
    })
    return (requestId: string) => waiting.add(requestId)
  }
  return {
    wake: batch((requestIds) => addWakeUps(queue, requestIds)),
    wakeHeadOf: batch(async (requestIds) => {
      const heads = await findNextInLanes(db, requestIds)
      if (heads.length > 0) await addWakeUps(queue, heads)
    }),
  }
}
