import type { Context } from 'hono'
import { logWarning } from '../platform/logger.ts'
import { MicroBatch } from '../platform/micro-batch.ts'
import { addWakeUps } from '../platform/queue.ts'
import type { Runtime } from '../platform/runtime.ts'
import type { ApiEnv } from './context.ts'

const maxJobsPerAdd = 200

/**
 * Adds the send's wake-up to the queue, together with those of concurrent sends. The send is committed by now: if the
 * queue can't take it, the send is still accepted, and a worker's reconciler adds the wake-up later.
 */
export function enqueuer({ queue, throughBreaker, log }: Runtime) {
  const adds = new MicroBatch<string, void>({
    maxItems: maxJobsPerAdd,
    isItemsFault: () => false,
    flush: async (requestIds) => {
      await throughBreaker(() => addWakeUps(queue, requestIds))
      return requestIds.map(() => undefined)
    },
  })
  return async (c: Context<ApiEnv>): Promise<void> => {
    const { requestId, budget } = c.var
    try {
      await budget.spend(adds.add(requestId))
    } catch (error) {
      logWarning(log, 'enqueue_failed', error, { requestId })
    }
  }
}
