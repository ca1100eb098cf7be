import { logFault } from '../../src/platform/log/logger.ts'
import { createWakeEndpoints } from '../../src/queue/wake-endpoints.ts'
import { createWakeLanes } from '../../src/queue/wake-sends.ts'
import type { Needs } from '../../src/runtime.ts'
import type { FallbackSettings } from '../../src/sends/fall-back.ts'
import type { RetrySettings } from '../providers/retry-delays.ts'
import { type WorkerTimes, workerTimes } from '../worker-times.ts'
import type { Permits } from './claim/permits.ts'
import type { RecordedOutcome } from './send-states.ts'
import { channelBreakers } from './wake-next/breaker.ts'

/**
 * Wakes what waited for this attempt: endpoints with a callback about it, and sends that waited for its channel's breaker, its
 * permit or its place in the lane. Its own wake-up is still in the queue: if the worker crashes before the end, that comes again,
 * and wakes the head of the lane.
 */
export function createWakeNext(
  runtime: Needs<'db' | 'log' | 'metrics' | 'shards', RetrySettings | FallbackSettings>,
  permits: Pick<Permits, 'grant'>,
  times: Pick<WorkerTimes, 'failingForMs'> = workerTimes,
) {
  const { log } = runtime
  const lanes = createWakeLanes(runtime)
  const wakeEndpoints = createWakeEndpoints(runtime)
  const updateBreaker = channelBreakers(runtime, times)

  const wakeNext = async (recorded: RecordedOutcome, wokenBy: string) => {
    const { send, outcome, isLate, delayMs, nextInLane, fellBackTo, endpointsToWake } = recorded
    const { requestId, channelId, isLimited, isOverflow } = send
    wakeEndpoints(endpointsToWake)
    if (!isLate) {
      await updateBreaker(send, outcome)
      if (isLimited) await permits.grant(channelId)
    }
    if (fellBackTo !== undefined) await permits.grant(fellBackTo)
    if (isLate) return await lanes.wakeHeadOf(requestId)
    // It went in the place of another one. Its own wake-up may have come meanwhile, and have ended.
    if (requestId !== wokenBy && delayMs !== undefined)
      await lanes.wake({ requestId, overflowOf: isOverflow ? channelId : null, inMs: delayMs })
    if (nextInLane) await lanes.wake(nextInLane)
    // A send that was accepted at this very moment is in neither result: its accept and this outcome didn't see each other.
    else if (delayMs === undefined) void lanes.wakeHeadOf(requestId)
  }
  /** @param wokenBy the send of the wake-up, if a more urgent one went in its place. */
  return async (recorded: RecordedOutcome, wokenBy = recorded.send.requestId): Promise<void> => {
    await wakeNext(recorded, wokenBy).catch((error: unknown) =>
      logFault(log, 'others_not_woken', error, { requestId: recorded.send.requestId }),
    )
  }
}
