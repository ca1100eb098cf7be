import type { Runtime } from '../src/runtime.ts'
import type { Providers } from './providers/index.ts'
import type { NextWakeUp } from './sends/attempt.ts'
import { claimer } from './sends/claim.ts'
import { conversationCloser } from './sends/close-conversation.ts'
import { dispatcher } from './sends/dispatch.ts'
import type { Permits } from './sends/permits.ts'
import { outcomeRecorder } from './sends/record-outcome.ts'
import { traceAttempt } from './sends/trace.ts'
import type { Heartbeat } from './upkeep/heartbeat.ts'

/**
 * The way of a send through a worker, from a wake-up to its recorded outcome. The order is a promise
 * (docs/reference/timeline.md#delivery): the claim is committed before the provider is called and the outcome after, so that a call
 * is never repeated blindly, and the contact's conversation is closed before the contact sees the message.
 */
export function deliverer(runtime: Runtime, providers: Providers, heartbeat: Heartbeat, permits: Permits) {
  const claim = claimer(runtime, heartbeat.worker, permits)
  const closeConversation = conversationCloser(runtime)
  const dispatch = dispatcher(runtime, providers, heartbeat)
  const recordOutcome = outcomeRecorder(runtime, permits)

  return async (requestId: string): Promise<NextWakeUp> => {
    const claimed = await claim(requestId)
    if (!claimed.send) return claimed.next
    return await traceAttempt(claimed.send, async () => {
      const send = await closeConversation(claimed.send)
      // Its claim was given up, which the timeline tells. It may be due, and without a wake-up but this one.
      if (!send) return { looksAgain: true }
      const attempt = await dispatch(send)
      return await recordOutcome(send, attempt)
    })
  }
}
