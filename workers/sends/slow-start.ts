import { LRUCache } from 'lru-cache'
import { findWaitingOverflow, noteAnswer } from '../../db/delivery/slow-start.ts'
import { logWarning } from '../../src/platform/logger.ts'
import type { Needs } from '../../src/runtime.ts'
import { retryUntilAvailable } from '../retry-until-available.ts'
import { type Queues, wake } from './wake.ts'

const notedEveryMs = 3000
const watchedChannels = 10_000
/** What was refused in the silence, before the first answer; what is more, the reconciler finds. */
const mostWoken = 1000

/**
 * A channel whose overflow gets no answers may have few calls of it under way (docs/explanation/delivery.md#fairness). With the first
 * answer that is over, and what was refused meanwhile is woken.
 *
 * @returns what to tell the channel of each answer to a send of the overflow.
 */
export function slowStartEnder(runtime: Queues & Needs<'db' | 'log'>) {
  const { db, log } = runtime
  const noted = new LRUCache<string, true>({ max: watchedChannels, ttl: notedEveryMs })
  const note = retryUntilAvailable(log, (channelId: string) => noteAnswer(db, channelId))

  return async (channelId: string): Promise<void> => {
    if (noted.has(channelId)) return
    noted.set(channelId, true)
    if (!(await note(channelId))) return
    try {
      await wake(runtime, await findWaitingOverflow(db, channelId, mostWoken))
    } catch (error) {
      logWarning(log, 'overflow_not_woken', error)
    }
  }
}
