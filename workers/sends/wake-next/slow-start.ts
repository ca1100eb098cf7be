import { LRUCache } from 'lru-cache'
import { findWaitingOverflow, noteAnswer } from '../../../db/delivery/slow-start.ts'
import { answersNotedEveryMs } from '../../../src/core/sends/delivery-times.ts'
import { logWarning } from '../../../src/platform/log/logger.ts'
import { retryUntilAvailable } from '../../../src/platform/retry-until-available.ts'
import { restoreOnShards } from '../../../src/queue/shard.ts'
import type { Needs } from '../../../src/runtime.ts'

const watchedChannels = 10_000
/** Limit of the sends woken at the end of a slow start. The reconciler finds the others. */
const maxWoken = 1000

/**
 * A channel whose overflow sends get no answers is in slow start: only few of them are called at a time
 * (docs/explanation/delivery.md#fairness). The first answer ends the slow start, and wakes the sends that were refused meanwhile.
 *
 * @returns a function to call with the channel of each answer to a send of the overflow.
 */
export function createEndSlowStart(runtime: Needs<'db' | 'log' | 'shards'>) {
  const { db, log, shards } = runtime
  const noted = new LRUCache<string, true>({ max: watchedChannels, ttl: answersNotedEveryMs })
  const note = retryUntilAvailable(log, (channelId: string) => noteAnswer(db, channelId))

  return async (channelId: string): Promise<void> => {
    if (noted.has(channelId)) return
    noted.set(channelId, true)
    if (!(await note(channelId))) return
    try {
      const waiting = await findWaitingOverflow(db, channelId, maxWoken)
      const { failures } = await restoreOnShards(shards, waiting)
      if (failures[0]) throw failures[0].error
    } catch (error) {
      logWarning(log, 'overflow_not_woken', error)
    }
  }
}
