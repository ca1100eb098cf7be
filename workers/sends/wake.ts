import type { WakeUp } from '../../src/core/send-job.ts'
import { restoreWakeUps } from '../../src/queue/queue.ts'
import type { Needs } from '../../src/runtime.ts'

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

const reportAgainAfterMs = 60_000

/**
 * Wakes sends as `wake` does, but never throws, because the reconciler adds missing wake-ups. While Redis is away, each limited
 * channel is tried several times a second.
 *
 * @param onFailure called with the error of a try, at most once a minute.
 */
export function tolerantWaker(queues: Queues, onFailure: (error: unknown) => void) {
  let quietUntil = 0
  return async (wakeUps: readonly WakeUp[]): Promise<void> => {
    try {
      await wake(queues, wakeUps)
    } catch (error) {
      if (performance.now() < quietUntil) return
      quietUntil = performance.now() + reportAgainAfterMs
      onFailure(error)
    }
  }
}
