import type { WakeUp } from '../../../src/core/send-job.ts'
import { logWarningOnceAMinute } from '../../../src/platform/logger.ts'
import { restoreWakeUps } from '../../../src/queue/queue.ts'
import type { Needs } from '../../../src/runtime.ts'

/** The part of the runtime that waking a send needs. */
export type Queues = Needs<'redis' | 'queue' | 'overflow' | 'throughBreaker'>

/**
 * Adds or promotes wake-ups of sends that have none, or too late a one.
 *
 * @returns how many.
 * @throws if Redis doesn't accept them in time.
 */
export async function wake(queues: Queues, wakeUps: readonly WakeUp[]): Promise<number> {
  if (wakeUps.length === 0) return 0
  return await queues.throughBreaker(() => restoreWakeUps(queues, wakeUps))
}

/**
 * Wakes sends as `wake` does, but only logs failures, because the reconciler adds missing wake-ups. While Redis is away, each
 * limited channel is tried several times a second, so that a log line for each try would flood the log.
 */
export function tolerantWaker(runtime: Queues & Needs<'log'>, event: string) {
  return async (wakeUps: readonly WakeUp[]): Promise<void> => {
    try {
      await wake(runtime, wakeUps)
    } catch (error) {
      logWarningOnceAMinute(runtime.log, event, error)
    }
  }
}
