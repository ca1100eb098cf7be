import type { Receipt, ReceiptKind, ReceiptRules } from '../../core/receipts/receipt.ts'
import { fieldsOf, jsonOf, momentOf, textOf } from '../../core/receipts/receipt-request.ts'
import { isSignedWebhook } from '../../core/receipts/standard-webhooks.ts'
import type { ResendConfig } from './config.ts'

/**
 * Opens and clicks follow a delivery. An open isn't `read`: many mailboxes fetch all images by themselves.
 * https://resend.com/docs/webhooks/event-types
 */
const kinds: Record<string, ReceiptKind> = {
  'email.sent': 'accepted',
  'email.delivery_delayed': 'accepted',
  'email.delivered': 'delivered',
  'email.bounced': 'undelivered',
  'email.failed': 'undelivered',
  'email.suppressed': 'undelivered',
  'email.complained': 'complained',
}

/** Resend's own words may repeat the address. */
const reasons: Record<string, string> = {
  'email.bounced': "the recipient's server refused the mail",
  'email.failed': 'Resend could not send the mail',
  'email.suppressed': 'Resend no longer sends to this address, after a bounce or a complaint',
}

/**
 * Webhooks of Resend, which Svix sends: https://resend.com/docs/webhooks/verify-webhooks-requests
 *
 * `{"type":"email.delivered","created_at":"2026-11-23T14:00:00.000Z","data":{"email_id":"…","tags":{"requestId":"…"},"to":["…"],…}}`
 */
export const resendReceipts: ReceiptRules<Partial<Pick<ResendConfig, 'webhookSecret'>>> = {
  words: kinds,
  areForEach: true,
  needPublicUrl: false,
  areOn: ({ webhookSecret }) => webhookSecret !== undefined,
  isProven: (request, { webhookSecret = '' }) => isSignedWebhook(request, [webhookSecret], 'svix-'),
  read(request) {
    const json = jsonOf(request)
    if (typeof json !== 'object' || json === null) return { issue: 'body: has to be JSON' }
    const { type, ...fields } = fieldsOf(json)
    if (typeof type !== 'string' || !Object.hasOwn(kinds, type)) {
      return { receipts: [], unexpected: 1, unreadable: 0 }
    }
    return { receipts: [receiptOf(type, fields)], unexpected: 0, unreadable: 0 }
  },
}

function receiptOf(type: string, { created_at, data }: Record<string, unknown>): Receipt {
  const { email_id, tags, bounce } = fieldsOf(data)
  const bounceType = textOf(fieldsOf(bounce).type) ?? ''
  // Resend goes on trying after a transient bounce.
  const isPassing = type === 'email.bounced' && bounceType === 'Transient'
  const kind = isPassing ? 'accepted' : (kinds[type] ?? 'accepted')
  return {
    requestId: textOf(fieldsOf(tags).requestId) ?? '',
    kind,
    providerStatus: type,
    providerAt: momentOf(created_at),
    providerCode: /^[A-Za-z]{1,32}$/.test(bounceType) ? bounceType : null,
    providerMessageId: textOf(email_id),
    ...(kind === 'undelivered' && { reason: reasons[type] }),
  }
}
