import { contentsIn, storedBytes } from '../../../src/core/messages/stored-content.ts'
import {
  unsubscribeKey,
  unsubscribeLink,
  withUnsubscribeLink,
} from '../../../src/core/messages/unsubscribe.ts'
import { otherWorkerDelayMs } from '../../../src/core/sends/delivery-times.ts'
import type { AttemptOutcome } from '../../../src/core/sends/outcome.ts'
import { ownReasons } from '../../../src/core/sends/own-reasons.ts'
import { logFault } from '../../../src/platform/log/logger.ts'
import type { Reservation } from '../../../src/platform/memory/memory-budget.ts'
import { credentialsKeys } from '../../../src/platform/settings/settings.ts'
import type { Delivery } from '../../../src/providers/delivery.ts'
import { findProvider } from '../../../src/providers/known.ts'
import type { Needs } from '../../../src/runtime.ts'
import { noMemory } from '../../http/media-answer.ts'
import { createOpenConfig } from '../../providers/open-config.ts'
import type { EnteredSend } from '../send-states.ts'
import { createLoadMedia } from './load-media.ts'
import type { PutOffs } from './put-off.ts'

const noConfig =
  "the worker could not open the channel's config; set its CREDENTIALS_KEY to the key that sealed it (dispatch_fault in its log says more)"
const noPublicUrl = 'the provider fetches media from this service: set PUBLIC_BASE_URL for the worker too'
const noUnsubscribeUrl =
  'its mails have an address of this service to unsubscribe: set PUBLIC_BASE_URL for the worker too'
const noReceiptUrl = 'the provider reports to this service: set PUBLIC_BASE_URL for the worker too'
/** Its file may have come to another worker already. */
const noProvider: AttemptOutcome = {
  outcome: 'not_called',
  reason: "this worker has no provider of the channel's name: set its file with outbound provider set",
  delayMs: otherWorkerDelayMs,
}
const noContent = 'the worker could not read the media; see dispatch_fault in its log'

/**
 * Adds to the claimed send the channel's decrypted config and the bytes of media.
 *
 * @returns the delivery; or the result of the attempt, if the provider must not be called.
 */
export function createPrepareDelivery(
  runtime: Needs<
    'db' | 'log',
    | 'API_KEY_PEPPER'
    | 'CREDENTIALS_KEY'
    | 'CREDENTIALS_KEY_PREVIOUS'
    | 'PUBLIC_BASE_URL'
    | 'DATABASE_POOL_SIZE'
  >,
  putOffs: PutOffs,
) {
  const { settings, log } = runtime
  const load = createLoadMedia(runtime)
  const configOf = createOpenConfig(credentialsKeys(settings))
  const keyOfLinks = unsubscribeKey(settings.API_KEY_PEPPER)
  const withLink = ({ message, requestId, channelId, contact }: EnteredSend, publicBaseUrl: string) =>
    withUnsubscribeLink(
      message,
      unsubscribeLink(publicBaseUrl, { requestId, channelId, address: contact.value }, keyOfLinks),
    )

  return async (send: EnteredSend, memory: Reservation): Promise<Delivery<unknown> | AttemptOutcome> => {
    const { requestId, accountId, provider } = send
    const rules = findProvider(provider)
    if (!rules) return noProvider
    const { fetchesMedia, receipts } = rules
    // The reason to record if the step under way throws.
    let reason = noConfig
    try {
      const config = configOf(send)
      reason = noReceiptUrl
      if (receipts?.needPublicUrl && !settings.PUBLIC_BASE_URL && receipts.areOn(config))
        throw new Error(reason)
      reason = noUnsubscribeUrl
      const unsubscribes = send.oneClick && send.contact.type === 'email'
      if (unsubscribes && !settings.PUBLIC_BASE_URL) throw new Error(reason)
      const message = unsubscribes ? withLink(send, settings.PUBLIC_BASE_URL ?? '') : send.message
      const sizeBytes = storedBytes(message)
      if (sizeBytes === 0) return { ...send, message, config, mediaContent: undefined }
      reason = noPublicUrl
      if (fetchesMedia && !settings.PUBLIC_BASE_URL) throw new Error(reason)
      reason = noContent
      const stored = await load({ requestId, accountId, sizeBytes }, memory)
      if (stored === 'no_memory') return putOffs.putOff(requestId, noMemory.reason)
      putOffs.forget(requestId)
      if (stored) return { ...send, message, config, ...contentsIn(message, stored) }
      return { outcome: 'rejected', fault: 'message', reason: ownReasons.mediaGone }
    } catch (error) {
      logFault(log, 'dispatch_fault', error, { requestId })
      // Counts no attempt and holds no channel, because another worker may have the right settings.
      return { outcome: 'not_called', reason, delayMs: otherWorkerDelayMs }
    }
  }
}
