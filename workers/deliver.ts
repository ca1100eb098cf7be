import type { ClaimedSend } from '../db/sends.ts'
import type { Runtime } from '../src/platform/runtime.ts'
import { claimer } from './claim.ts'
import { conversationCloser } from './close-conversation.ts'
import { dispatcher } from './dispatch.ts'
import { outcomeRecorder } from './record-outcome.ts'

/** A send that has entered its conversation. */
export type EnteredSend = ClaimedSend & { conversationId: string }

/** What the queue is to do with a wake-up that was followed: nothing more, or wake the send again. */
export interface FollowUp {
  wakeInMs: number | undefined
}

/**
 * The way of a send through a worker, from a wake-up to its recorded outcome. The order is a promise
 * (docs/api.md#delivery): the claim is committed before the provider is called and the outcome after, so that a call
 * is never repeated blindly, and the conversation is closed before the contact sees the message.
 *
 * @param worker names this worker in claims and timelines.
 */
export function deliverer(runtime: Runtime, worker: string) {
  const claim = claimer(runtime, worker)
  const closeConversation = conversationCloser(runtime)
  const dispatch = dispatcher(runtime)
  const recordOutcome = outcomeRecorder(runtime)

  return async (requestId: string): Promise<FollowUp> => {
    const claimed = await claim(requestId)
    if ('wakeInMs' in claimed) return claimed
    const send = await closeConversation(claimed)
    const attempt = await dispatch(send)
    return await recordOutcome(send, attempt)
  }
}
