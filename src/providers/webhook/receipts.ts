import { z } from 'zod'
import { maskText } from '../../core/contacts/mask-text.ts'
import type { DeliveryState, ReceiptRules } from '../../core/receipts/receipt.ts'
import { jsonOf } from '../../core/receipts/receipt-request.ts'
import { isSignedWebhook } from '../../core/receipts/standard-webhooks.ts'
import { characters, choice, optional, string } from '../../core/requests/fields.ts'
import { describeIssue, describeIssues } from '../../core/requests/issues.ts'
import { parseMoment } from '../../core/sends/send-at.ts'
import type { WebhookConfig } from './config.ts'

export const maxPerRequest = 100
const aMoment = z
  .string()
  .meta({ format: 'date-time' })
  .refine((text) => parseMoment(text) !== undefined, 'has to be a time such as 2026-11-21T14:00:00Z')
const aCode = z.string().regex(/^[\w.:-]{1,64}$/, 'has to be 1 to 64 letters, digits or _ . : -')

export const webhookReceipt = z
  .strictObject({
    requestId: string.describe('The `requestId` that came with the message.'),
    status: choice<DeliveryState>('What became of the message', {
      delivered: 'the contact got it',
      read: 'the contact read it',
      undelivered: 'it could not be delivered',
    }),
    at: optional(aMoment.describe('When, by your clock.')),
    code: optional(aCode.describe('Your code of the failure.')),
    reason: optional(characters(0, 500).describe('Why it could not be delivered.')),
  })
  .describe('What became of a message.')

export const receiptList = z.array(webhookReceipt).min(1, 'is empty').max(maxPerRequest)

/** Receipts that the receiver of a channel's messages sends back, signed like those messages (docs/reference/providers/webhook.md). */
export const webhookReceipts: ReceiptRules<Pick<WebhookConfig, 'secret'>> = {
  words: { delivered: 'delivered', read: 'read', undelivered: 'undelivered' },
  areForEach: false,
  needPublicUrl: false,
  areOn: () => true,
  isProven: (request, { secret }) => isSignedWebhook(request, [secret].flat()),
  read(request) {
    const json = jsonOf(request)
    if (json === undefined) return { issue: 'body: has to be JSON' }
    const parsed = (Array.isArray(json) ? receiptList : webhookReceipt).safeParse(json, {
      error: describeIssue,
    })
    if (!parsed.success) return { issue: describeIssues(parsed.error.issues) }
    const receipts = [parsed.data].flat().map(({ requestId, status, at, code, reason }) => ({
      requestId,
      kind: status,
      providerStatus: status,
      providerAt: at === undefined ? null : (parseMoment(at)?.toISOString() ?? null),
      // Texts of another system, which may repeat the contact.
      providerCode: code === undefined ? null : maskText(code, []),
      providerMessageId: null,
      ...(reason !== undefined && { reason: maskText(reason, []) }),
    }))
    return { receipts, unexpected: 0, unreadable: 0 }
  },
}
