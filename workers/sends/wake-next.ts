import { logFault } from '../../src/platform/logger.ts'
import type { Needs } from '../../src/runtime.ts'
import type { RecordedAttempt } from './attempt.ts'
import { channelBreakers } from './breaker.ts'
import { laneWaker } from './lanes.ts'
import type { Permits } from './permits.ts'
import type { Queues } from './wake.ts'

/**
 * Wakes the sends that waited for this attempt: for the breaker of its channel, for its permit, or behind it in its lane.
 * Takes place before its own wake-up leaves the queue: should the worker die in the middle of it, that one comes back, and
 * the head of the lane is looked for.
 */
export function nextWaker(
  runtime: Queues & Needs<'db' | 'log' | 'metrics', 'RETRY_DELAYS_SECONDS'>,
  permits: Pick<Permits, 'give'>,
) {
  const { log } = runtime
  const lanes = laneWaker(runtime)
  const tellBreaker = channelBreakers(runtime)

  const wakeNext = async ({ send, attempt, isLate, delayMs, nextInLane }: RecordedAttempt) => {
    const { requestId, channelId, isLimited } = send
    if (isLate) return await lanes.wakeHeadOf(requestId)
    await tellBreaker(send, attempt)
    if (isLimited) await permits.give(channelId)
    if (nextInLane) await lanes.wake(nextInLane)
    // One that was accepted at this moment: neither it nor this outcome has seen the other.
    else if (delayMs === undefined) void lanes.wakeHeadOf(requestId)
  }
  return async (recorded: RecordedAttempt): Promise<void> => {
    await wakeNext(recorded).catch((error: unknown) =>
      logFault(log, 'others_not_woken', error, { requestId: recorded.send.requestId }),
    )
  }
}
