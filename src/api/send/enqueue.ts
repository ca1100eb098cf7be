import { findReadyHeads } from '../../../db/delivery/due-sends.ts'
import type { WakeUp } from '../../core/send-job.ts'
import { logWarning, logWarningOnceAMinute } from '../../platform/logger.ts'
import { MicroBatch } from '../../platform/micro-batch.ts'
import { ofSend } from '../../platform/redis-shard.ts'
import { addWakeUps } from '../../queue/queue.ts'
import { restoreOnShards } from '../../queue/shard.ts'
import type { Needs } from '../../runtime.ts'
import type { RequestState } from '../context.ts'

const maxJobsPerAdd = 200

/**
 * Adds the send's wake-up to the queue, together with those of concurrent sends. The send is committed already: if adding fails,
 * the send is still accepted, and a worker's reconciler adds the wake-up later.
 */
export function enqueuer(runtime: Needs<'db' | 'shards' | 'log' | 'metrics'>) {
  const { shards, log, metrics } = runtime
  const wakeHeadOf = laneHeadWaker(runtime)
  const adds = shards.map(
    (shard) =>
      new MicroBatch<WakeUp, void>({
        maxItems: maxJobsPerAdd,
        mayOverlap: true,
        flush: async (wakeUps) => {
          await shard.throughBreaker(() => addWakeUps(shard, wakeUps))
          for (const { requestId, isBehind } of wakeUps) if (isBehind) void wakeHeadOf(requestId)
          return wakeUps.map(() => undefined)
        },
      }),
  )
  return async ({ deadline }: Pick<RequestState, 'deadline'>, wakeUp: WakeUp): Promise<void> => {
    try {
      await deadline.spend(ofSend(adds, wakeUp.requestId).add(wakeUp))
    } catch (error) {
      logWarning(log, 'enqueue_failed', error, { requestId: wakeUp.requestId })
      metrics.enqueueFailures.inc()
    }
  }
}

/**
 * Wakes the head of a send's lane if it may go: after a cancel, or because an earlier send of the lane ended before the wake-ups
 * behind it were added, and so could not promote them. Failures are only logged, since the reconciler adds missing wake-ups.
 */
export function laneHeadWaker({
  db,
  shards,
  log,
}: Needs<'db' | 'shards' | 'log'>): (requestId: string) => Promise<void> {
  const heads = new MicroBatch<string, void>({
    maxItems: maxJobsPerAdd,
    flush: async (requestIds) => {
      try {
        const { failures } = await restoreOnShards(shards, await findReadyHeads(db, requestIds))
        if (failures[0]) throw failures[0].error
      } catch (error) {
        logWarningOnceAMinute(log, 'lane_not_woken', error)
      }
      return requestIds.map(() => undefined)
    },
  })
  return (requestId) => heads.add(requestId)
}
