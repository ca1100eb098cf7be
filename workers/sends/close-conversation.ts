import type { ClaimedSend } from '../../db/delivery/claims.ts'
import { type Entered, type Entry, enterConversations } from '../../db/delivery/conversations.ts'
import { isRowFault } from '../../db/errors.ts'
import { logEvent } from '../../src/platform/logger.ts'
import { MicroBatch } from '../../src/platform/micro-batch.ts'
import type { Needs } from '../../src/runtime.ts'
import { retryUntilAvailable } from '../retry-until-available.ts'
import type { EnteredSend } from './attempt.ts'

const maxSendsPerEntry = 200

/**
 * Closes the contact's open conversation where the send asks for it, and lets the send open the next; otherwise it
 * joins the open one, or opens one. Done once: on later attempts, and where the claim has joined or opened one, the send
 * is in a conversation already.
 *
 * @returns undefined where the claim was given up meanwhile: the provider must not be called by it.
 */
export function conversationCloser({ db, log }: Needs<'db' | 'log'>) {
  const entries = new MicroBatch<Entry, Entered>({
    maxItems: maxSendsPerEntry,
    isItemsFault: isRowFault,
    flush: retryUntilAvailable(log, (batch) => enterConversations(db, batch)),
  })
  return async (send: ClaimedSend): Promise<EnteredSend | undefined> => {
    const { requestId, conversationId } = send
    if (conversationId !== null) return { ...send, conversationId }
    const entered = await entries.add(send)
    if (send.closeConversation) {
      logEvent(log, requestId, 'conversation_closed', { conversationId: entered.closedConversationId })
    }
    return entered.holdsClaim ? { ...send, conversationId: entered.conversationId } : undefined
  }
}
