import { setTimeout as sleep } from 'node:timers/promises'
import type { Database } from '../../db/connection/client.ts'
import { isNotConnected, isUnavailable } from '../../db/connection/errors.ts'
import { keepSandboxMessage } from '../../db/sends/sandbox-messages.ts'
import { withTemplateText } from '../../src/core/messages/text-template.ts'
import type { DeliveryState } from '../../src/core/receipts/receipt.ts'
import type { Outcome } from '../../src/core/sends/outcome.ts'
import type { Delivery } from '../../src/providers/delivery.ts'
import type { ReceiptRecorder } from '../../src/sends/record-receipts.ts'
import type { Sender } from './sender.ts'

const slowMs = 3000
const retriesBeforeSent = 2

const byNumber: Record<string, string> = {
  '+15550100101': 'slow',
  '+15550100102': 'retry',
  '+15550100103': 'rejected',
  '+15550100104': 'ratelimited',
  '+15550100105': 'uncertain',
  '+15550100106': 'delivered',
  // As a local part of an address this can't be.
  '+15550100107': 'delivered, read',
  '+15550100108': 'undelivered',
}

/** The receipts that the recipient's phone or server sends, one after the other. */
const receiptsOf = new Map<string, readonly DeliveryState[]>([
  ['delivered', ['delivered']],
  ['delivered, read', ['delivered', 'read']],
  ['undelivered', ['undelivered']],
])
const receiptAfterMs = 300

/** By its number, or by what stands before the `@`. */
const behaviourOf = (value: string): string => byNumber[value] ?? value.replace(/@.*$/, '')

/** Failures that a test recipient asks for are the recipient's fault, so that others on the channel don't wait for them. */
const recipients = <O extends string>(outcome: O) => ({ outcome, fault: 'recipient' }) as const

/**
 * Stores accepted messages in PostgreSQL. Some recipients, by number or by local part, make it fail or wait
 * (docs/reference/providers/sandbox.md).
 */
export function createSandboxSender(db: Database, record: ReceiptRecorder): Sender {
  const reports = new Set<NodeJS.Timeout>()
  /** Sends the receipts after the answer, as a provider does. */
  const reportLater = (
    delivery: Delivery<unknown>,
    providerMessageId: string,
    states: readonly DeliveryState[],
  ) => {
    const [state, ...later] = states
    if (!state) return
    const timer = setTimeout(async () => {
      reports.delete(timer)
      // A sandbox loses its receipts while PostgreSQL is down.
      await record(receiptOf(delivery, providerMessageId, state)).catch(() => {})
      reportLater(delivery, providerMessageId, later)
    }, receiptAfterMs)
    reports.add(timer)
  }
  return {
    async close() {
      for (const timer of reports) clearTimeout(timer)
    },
    async send(delivery, signal): Promise<Outcome> {
      const { contact, attempt } = delivery
      const behaviour = behaviourOf(contact.value)
      if (behaviour === 'rejected') {
        return {
          ...recipients('rejected'),
          reason: 'the sandbox refuses this recipient',
          providerStatus: 400,
          providerCode: 'rejected',
        }
      }
      if (behaviour === 'retry' && attempt <= retriesBeforeSent) {
        return {
          ...recipients('retry_later'),
          reason: 'the sandbox is out of service',
          providerStatus: 503,
        }
      }
      if (behaviour === 'ratelimited' && attempt === 1) {
        return {
          ...recipients('retry_later'),
          reason: 'the sandbox accepts no more messages now',
          providerStatus: 429,
          retryAfterMs: 2000,
        }
      }
      if (behaviour === 'slow' && !(await passes(slowMs, signal))) {
        return { ...recipients('uncertain'), reason: 'no answer in time' }
      }
      const providerMessageId = await keep(db, delivery).catch(outOfService)
      if (typeof providerMessageId !== 'string') return providerMessageId
      if (behaviour === 'uncertain')
        return { ...recipients('uncertain'), reason: 'the connection was lost before the answer' }
      reportLater(delivery, providerMessageId, receiptsOf.get(behaviour) ?? [])
      return { outcome: 'sent', providerMessageId, providerStatus: 200 }
    },
  }
}

function receiptOf(
  { requestId, channelId, hasFallback = false }: Delivery<unknown>,
  providerMessageId: string,
  kind: DeliveryState,
) {
  const receipt = {
    requestId,
    kind,
    providerStatus: kind,
    providerAt: new Date().toISOString(),
    providerCode: null,
    providerMessageId,
    ...(kind === 'undelivered' && { reason: 'the sandbox does not deliver to this recipient' }),
  }
  return {
    provider: 'sandbox',
    channelId,
    receipts: [{ receipt, channelIds: [channelId], hasFallback }],
  } as const
}

function keep(db: Database, delivery: Delivery<unknown>): Promise<string> {
  const { requestId, channelId, contact, message, conversationId, flowId } = delivery
  return keepSandboxMessage(db, {
    requestId,
    channelId,
    contactType: contact.type,
    contactValue: contact.value,
    contactName: contact.name ?? null,
    message: withTemplateText(message),
    mediaContent: storedOf(delivery) ?? null,
    conversationId,
    flowId,
  })
}

/** The bytes in the order in which those of the send are stored. */
function storedOf({ mediaContent, attachmentContents }: Delivery<unknown>): Buffer | undefined {
  if (!attachmentContents) return mediaContent
  return Buffer.concat([mediaContent, ...attachmentContents].flatMap((content) => content ?? []))
}

/** @returns whether the time passed before the signal. */
async function passes(ms: number, signal: AbortSignal): Promise<boolean> {
  return await sleep(ms, true, { signal }).catch(() => false)
}

/** While PostgreSQL is down, the sandbox accepts nothing. */
function outOfService(error: unknown): Outcome {
  if (isNotConnected(error)) {
    return {
      outcome: 'retry_later',
      fault: 'provider',
      reason: 'the sandbox is out of service',
      providerStatus: 503,
    }
  }
  if (!isUnavailable(error)) throw error
  return { outcome: 'uncertain', fault: 'provider', reason: 'the connection was lost before the answer' }
}
