import type { ClaimedSend } from '../db/claims.ts'
import type { Runtime } from '../src/platform/runtime.ts'
import { claimer } from './claim.ts'
import { conversationCloser } from './close-conversation.ts'
import { dispatcher } from './dispatch.ts'
import type { Heartbeat } from './heartbeat.ts'
import type { Providers } from './providers/index.ts'
import { outcomeRecorder } from './record-outcome.ts'

/** A claimed send in its conversation. */
export type EnteredSend = ClaimedSend & { conversationId: string }

/** What the queue is to do when the wake-up has been followed. */
export interface NextWakeUp {
  /** When to wake the send again: undefined where nothing is left to do for it now. */
  wakeInMs?: number | undefined
  /** Whether to look after the head of its lane, once this wake-up has left the queue. */
  leavesLane?: boolean
}

/**
 * The way of a send through a worker, from a wake-up to its recorded outcome. The order is a promise
 * (docs/api.md#delivery): the claim is committed before the provider is called and the outcome after, so that a call
 * is never repeated blindly, and the contact's conversation is closed before the contact sees the message.
 */
export function deliverer(runtime: Runtime, providers: Providers, heartbeat: Heartbeat) {
  const claim = claimer(runtime, heartbeat.worker)
  const closeConversation = conversationCloser(runtime)
  const dispatch = dispatcher(runtime, providers, heartbeat)
  const recordOutcome = outcomeRecorder(runtime)

  return async (requestId: string): Promise<NextWakeUp> => {
    const claimed = await claim(requestId)
    if (!claimed.send) return claimed.next
    const send = await closeConversation(claimed.send)
    const attempt = await dispatch(send)
    return await recordOutcome(send, attempt)
  }
}
