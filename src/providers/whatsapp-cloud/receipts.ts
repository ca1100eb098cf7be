import { createHmac } from 'node:crypto'
import { isSameSecret } from '../../core/accounts/same-secret.ts'
import type { ReadReceipts, Receipt, ReceiptKind, ReceiptRules } from '../../core/receipts/receipt.ts'
import { fieldsOf, headerOf, itemsOf, jsonOf, textOf, wordOf } from '../../core/receipts/receipt-request.ts'
import { meaningIn } from '../shared/code-table.ts'
import { whatsAppCodes } from './codes.ts'
import type { WhatsAppCloudConfig } from './config.ts'

/** Each of a contact's devices may report. `played` is of a voice message. */
const kinds: Record<string, ReceiptKind> = {
  sent: 'accepted',
  delivered: 'delivered',
  read: 'read',
  played: 'read',
  failed: 'undelivered',
}

/**
 * Webhooks of the WhatsApp Business Platform. One app has one address, so a request may bring receipts of several numbers.
 * https://developers.facebook.com/documentation/business-messaging/whatsapp/webhooks/reference/messages/status
 *
 * `{"object":"whatsapp_business_account","entry":[{"id":"…","changes":[{"field":"messages","value":{"metadata":{"phone_number_id":"…"},
 * "statuses":[{"id":"wamid.…","status":"delivered","timestamp":"1750263773","recipient_id":"…","biz_opaque_callback_data":"…"}]}}]}]}`
 */
export const whatsAppReceipts: ReceiptRules<
  Pick<WhatsAppCloudConfig, 'phoneNumberId' | 'appSecret' | 'verifyToken'>
> = {
  words: kinds,
  areForEach: true,
  needPublicUrl: false,
  areOn: ({ appSecret, verifyToken }) => appSecret !== undefined && verifyToken !== undefined,
  /** Meta signs the bytes that it sends, so the body is never parsed and written again before. */
  isProven(request, { appSecret = '' }) {
    const signature = createHmac('sha256', appSecret).update(request.body).digest('hex')
    return isSameSecret(headerOf(request, 'x-hub-signature-256'), `sha256=${signature}`)
  },
  read(request) {
    const json = jsonOf(request)
    if (typeof json !== 'object' || json === null) return { issue: 'body: has to be JSON' }
    const found: ReadReceipts = { receipts: [], unexpected: 0, unreadable: 0 }
    const { object, entry } = fieldsOf(json)
    const changes = itemsOf(entry).flatMap((one) => itemsOf(fieldsOf(one).changes))
    for (const change of changes) readChange(fieldsOf(change), found)
    if (object !== 'whatsapp_business_account' || changes.length === 0) found.unexpected++
    return found
  },
  /** https://developers.facebook.com/docs/graph-api/webhooks/getting-started#verification-requests */
  answerCheck(query, { verifyToken = '' }) {
    const isRight = isSameSecret(query.get('hub.verify_token') ?? '', verifyToken)
    return isRight && query.get('hub.mode') === 'subscribe' ? (query.get('hub.challenge') ?? '') : undefined
  },
  areShared: (sender, { appSecret }, other) =>
    appSecret !== undefined && other.appSecret === appSecret && other.phoneNumberId === sender,
}

/** Inbound messages come to the same address, in a list of their own. */
function readChange({ field, value }: Record<string, unknown>, found: ReadReceipts): void {
  const { metadata, statuses } = fieldsOf(value)
  const list = itemsOf(statuses)
  if (field !== 'messages' || list.length === 0) found.unexpected++
  const sender = textOf(fieldsOf(metadata).phone_number_id) ?? ''
  for (const one of list) {
    const { status, ...fields } = fieldsOf(one)
    if (typeof status !== 'string') found.unreadable++
    else if (!Object.hasOwn(kinds, status)) found.unexpected++
    else found.receipts.push(receiptOf(status, fields, sender))
  }
}

function receiptOf(status: string, fields: Record<string, unknown>, sender: string): Receipt {
  const { id, timestamp, biz_opaque_callback_data, errors } = fields
  const { code } = fieldsOf(itemsOf(errors)[0])
  const providerCode = /^\d{1,9}$/.test(wordOf(code)) ? wordOf(code) : null
  return {
    requestId: textOf(biz_opaque_callback_data) ?? '',
    kind: kinds[status] ?? 'accepted',
    sender,
    providerStatus: status,
    providerAt: momentOf(timestamp),
    providerCode,
    providerMessageId: textOf(id),
    // Meta's own words may repeat the number.
    ...(status === 'failed' && {
      reason: meaningIn(providerCode, whatsAppCodes) ?? 'WhatsApp could not deliver it',
    }),
  }
}

/** Unix time in seconds, as a text. */
function momentOf(timestamp: unknown): string | null {
  return /^\d{9,11}$/.test(wordOf(timestamp)) ? new Date(Number(timestamp) * 1000).toISOString() : null
}
