import type { WakeUp } from '../../src/core/send-job.ts'
import { logWarningOnceAMinute } from '../../src/platform/logger.ts'
import { restoreOnShards } from '../../src/queue/shard.ts'
import type { Needs } from '../../src/runtime.ts'

/** The part of the runtime that waking a send needs. */
export type Queues = Needs<'shards'>

/**
 * Adds or promotes wake-ups of sends that have none, or too late a one.
 *
 * @returns how many.
 * @throws if a shard's Redis doesn't accept its part in time. The other shards have theirs.
 */
export async function wake({ shards }: Queues, wakeUps: readonly WakeUp[]): Promise<number> {
  const { restored, failures } = await restoreOnShards(shards, wakeUps)
  if (failures[0]) throw failures[0].error
  return restored
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
