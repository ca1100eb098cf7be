import PostalMime from 'postal-mime'
import { isSameSecret } from '../../core/accounts/same-secret.ts'
import type { Receipt, ReceiptKind, ReceiptRequest, ReceiptRules } from '../../core/receipts/receipt.ts'
import { contentTypeOf, headerOf } from '../../core/receipts/receipt-request.ts'
import type { SmtpConfig } from './config.ts'
import { hardBounceOf } from './replies/hard-bounces.ts'
import { meaningOfBounce } from './replies/meanings.ts'
import { readMailReport } from './reports/mail-report.ts'
import type { RecipientReport } from './reports/model.ts'

/** https://www.rfc-editor.org/rfc/rfc3464#section-2.3.3, and `expired` of some systems; `auto-replied` of mails that are no report. */
const kinds: Record<string, ReceiptKind> = {
  delivered: 'delivered',
  expanded: 'delivered',
  failed: 'undelivered',
  expired: 'undelivered',
  delayed: 'accepted',
  relayed: 'accepted',
  'auto-replied': 'noted',
  // https://www.rfc-editor.org/rfc/rfc5965#section-7.3
  abuse: 'complained',
  fraud: 'complained',
}

/**
 * Reports of mail servers on a mail's delivery (RFC 3464) and of complaints (RFC 5965), as the operator's mail server passes them on
 * (docs/reference/providers/smtp.md).
 */
export const smtpReceipts: ReceiptRules<Partial<Pick<SmtpConfig, 'bounceToken'>>> = {
  words: kinds,
  areForEach: false,
  needPublicUrl: false,
  areOn: ({ bounceToken }) => bounceToken !== undefined,
  isProven(request, { bounceToken = '' }) {
    const [, given = ''] = /^Bearer +([^ ]+)$/i.exec(headerOf(request, 'authorization')) ?? []
    return isSameSecret(given, bounceToken)
  },
  async read(request: ReceiptRequest) {
    if (contentTypeOf(request) !== 'message/rfc822')
      return { issue: 'Content-Type: has to be message/rfc822' }
    const mail = await PostalMime.parse(request.body, {
      forceRfc822Attachments: true,
      attachmentEncoding: 'utf8',
    }).catch(() => undefined)
    if (!mail || mail.headers.length === 0) return { issue: 'body: has to be a mail' }
    const report = readMailReport(mail)
    if (!report) return { receipts: [], unexpected: 1, unreadable: 0 }
    const { requestIds, recipients, unreadable } = report
    return {
      receipts: recipients.map((recipient) => receiptOf(requestIds, recipient)),
      unexpected: 0,
      unreadable,
    }
  },
}

function receiptOf(requestIds: readonly string[], report: RecipientReport): Receipt {
  const [requestId = '', ...otherRequestIds] = requestIds
  const kind = kinds[report.action] ?? 'accepted'
  return {
    requestId,
    ...(otherRequestIds.length > 0 && { otherRequestIds }),
    kind,
    providerStatus: report.action,
    providerAt: report.at,
    providerCode: report.code ?? (report.reply === null ? null : String(report.reply)),
    providerMessageId: null,
    // The server's own text usually repeats the address.
    ...(kind === 'undelivered' && {
      reason: meaningOfBounce(report) ?? 'a mail server could not deliver it',
      suppresses: report.action === 'failed' ? hardBounceOf(report) : null,
    }),
  }
}
