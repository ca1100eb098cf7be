import { isRowFault } from '../../db/connection/errors.ts'
import { type Entered, type Entry, enterConversations } from '../../db/delivery/conversations.ts'
import { logEvent } from '../../src/platform/log/logger.ts'
import { MicroBatch } from '../../src/platform/micro-batch.ts'
import { retryUntilAvailable } from '../../src/platform/retry-until-available.ts'
import type { Needs } from '../../src/runtime.ts'
import type { EnteredSend, OwnSend } from './send-states.ts'

const maxSendsPerEntry = 200

/**
 * Lets the send enter a conversation, once: the contact's open one, which a send with `closeConversation` closes first, or a new
 * one. At later attempts, and if the claim has done it already, the send is in its conversation.
 *
 * @returns undefined if the claim was given up meanwhile, so that the provider must not be called.
 */
export function createEnterConversation({ db, log }: Needs<'db' | 'log'>) {
  const entries = new MicroBatch<Entry, Entered>({
    maxItems: maxSendsPerEntry,
    isItemsFault: isRowFault,
    flush: retryUntilAvailable(log, (batch) => enterConversations(db, batch)),
  })
  return async (send: OwnSend): Promise<EnteredSend | undefined> => {
    const { requestId, conversationId } = send
    if (conversationId !== null) return { ...send, conversationId }
    const entered = await entries.add(send)
    if (send.closeConversation) {
      logEvent(log, requestId, 'conversation_closed', { conversationId: entered.closedConversationId })
    }
    return entered.holdsClaim ? { ...send, conversationId: entered.conversationId } : undefined
  }
}
