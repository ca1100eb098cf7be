import type { WakeUp } from '../../core/sends/send-job.ts'
import { logWarning } from '../../platform/log/logger.ts'
import { MicroBatch } from '../../platform/micro-batch.ts'
import { ofSend } from '../../platform/redis/shard.ts'
import { addWakeUps } from '../../queue/queue.ts'
import { createWakeLanes } from '../../queue/wake-sends.ts'
import type { Needs } from '../../runtime.ts'
import type { RequestState } from '../context.ts'

const maxJobsPerAdd = 100

/**
 * Adds wake-ups to the queue, together with those of concurrent requests. Their sends are committed already: if adding fails, they
 * are still accepted, and a worker's reconciler adds the wake-ups later.
 */
export function createEnqueue(runtime: Needs<'db' | 'shards' | 'log' | 'metrics'>) {
  const { shards, log, metrics } = runtime
  const { wakeHeadOf } = createWakeLanes(runtime)
  const adds = shards.map(
    (shard) =>
      new MicroBatch<WakeUp, void>({
        maxItems: maxJobsPerAdd,
        mayOverlap: true,
        flush: async (wakeUps) => {
          await shard.throughBreaker(() => addWakeUps(shard, wakeUps))
          // The earlier send may have ended before this was added, and so could not promote it.
          for (const { requestId, isBehind } of wakeUps) if (isBehind) void wakeHeadOf(requestId)
          return wakeUps.map(() => undefined)
        },
      }),
  )
  const notAdded = (requestId: string, error: unknown) => {
    logWarning(log, 'enqueue_failed', error, { requestId })
    metrics.enqueueFailures.inc()
  }
  return async ({ deadline }: Pick<RequestState, 'deadline'>, wakeUps: readonly WakeUp[]): Promise<void> => {
    const waiting = new Set(wakeUps)
    const add = async (wakeUp: WakeUp) => {
      try {
        await ofSend(adds, wakeUp.requestId).add(wakeUp)
      } catch (error) {
        if (waiting.has(wakeUp)) notAdded(wakeUp.requestId, error)
      }
      waiting.delete(wakeUp)
    }
    try {
      await deadline.spend(Promise.all(wakeUps.map(add)))
    } catch (error) {
      for (const { requestId } of waiting) notAdded(requestId, error)
      waiting.clear()
    }
  }
}
