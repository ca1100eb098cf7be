import { maskText } from '../../core/contacts/mask-text.ts'
import type { ReceiptRules } from '../../core/receipts/receipt.ts'
import { receiptBody, receiptList } from '../../core/receipts/receipt-body.ts'
import { jsonOf } from '../../core/receipts/receipt-request.ts'
import { isSignedWebhook } from '../../core/receipts/standard-webhooks.ts'
import { describeIssue, describeIssues } from '../../core/requests/issues.ts'
import { parseMoment } from '../../core/sends/send-at.ts'
import type { WebhookConfig } from './config.ts'

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
    const parsed = (Array.isArray(json) ? receiptList : receiptBody).safeParse(json, {
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
