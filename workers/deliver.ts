import type { Runtime } from '../src/runtime.ts'
import type { Senders } from './providers/index.ts'
import { InFlight } from './queue/in-flight.ts'
import type { NextWakeUp } from './queue/queue-worker.ts'
import { type Slot, unlimitedSlot } from './queue/slots.ts'
import type { Permits } from './sends/claim/permits.ts'
import { createClaim } from './sends/claim.ts'
import { createDispatch } from './sends/dispatch.ts'
import { createEnterConversation } from './sends/enter-conversation.ts'
import { createRecordOutcome } from './sends/record-outcome.ts'
import type { OwnSend, RecordedOutcome } from './sends/send-states.ts'
import { traceAttempt } from './sends/trace-attempt.ts'
import { createWakeNext } from './sends/wake-next.ts'
import type { Heartbeat } from './upkeep/heartbeat.ts'
import { type WorkerTimes, workerTimes } from './worker-times.ts'

/** The parts of a worker that a delivery uses. */
export interface DeliveryParts {
  senders: Senders
  heartbeat: Pick<Heartbeat, 'worker' | 'holdsLease'>
  permits: Pick<Permits, 'request' | 'grant'>
  inFlight?: InFlight
  times?: Pick<WorkerTimes, 'failingForMs'>
}

interface Advanced {
  next: NextWakeUp
  recorded?: RecordedOutcome
}

/**
 * Advances a send, from its wake-up to the wake-ups of the sends that waited for it. The order is a promise
 * (docs/reference/timeline.md#delivery): the claim is committed before the provider is called and the outcome after, so
 * that a call is never repeated blindly, and the contact's conversation is closed before the contact sees the message.
 */
export function createDeliver(
  runtime: Runtime,
  { senders, heartbeat, permits, inFlight = new InFlight(), times = workerTimes }: DeliveryParts,
): (requestId: string, slot?: Slot) => Promise<NextWakeUp> {
  const claim = createClaim(runtime, heartbeat.worker, permits)
  const enterConversation = createEnterConversation(runtime)
  const dispatch = createDispatch(runtime, senders, heartbeat)
  const recordOutcome = createRecordOutcome(runtime)
  const wakeNext = createWakeNext(runtime, permits, times)

  const advance = async (requestId: string, slot: Slot): Promise<Advanced> => {
    const claimed = await claim(requestId, slot)
    if ('next' in claimed) return claimed
    const attempt = traceAttempt(claimed.send, () => attemptClaimed(claimed.send, slot))
    if (claimed.send.requestId === requestId) return await attempt
    // A more urgent send went in its place, so this wake-up comes again.
    const { recorded } = await inFlight.track(claimed.send.requestId, attempt)
    return { next: { wakeInMs: 0 }, ...(recorded && { recorded }) }
  }
  const attemptClaimed = async (claimed: OwnSend, slot: Slot): Promise<Advanced> => {
    const send = await enterConversation(claimed)
    // The claim was given up meanwhile. The send may be due again, with no other wake-up than this one.
    if (!send) return { next: { wakesLaneHead: true } }
    const outcome = await dispatch(send, slot)
    const recorded = await recordOutcome(send, outcome)
    // One that fell back is woken when this wake-up has left the queue: it may be in the other queue from now on.
    const next = { wakeInMs: recorded.delayMs, wakesLaneHead: recorded.fellBackTo !== undefined }
    return { next, recorded }
  }

  return async (requestId, slot = unlimitedSlot) => {
    const { next, recorded } = await inFlight.track(requestId, advance(requestId, slot))
    if (recorded) await wakeNext(recorded, requestId)
    return next
  }
}
