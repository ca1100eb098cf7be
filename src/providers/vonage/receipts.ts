import { createHash, createHmac } from 'node:crypto'
import { isSameSecret } from '../../core/accounts/same-secret.ts'
import type { Receipt, ReceiptKind, ReceiptRequest, ReceiptRules } from '../../core/receipts/receipt.ts'
import {
  fieldsOf,
  headerOf,
  jsonOf,
  momentOf,
  parseJson,
  textOf,
} from '../../core/receipts/receipt-request.ts'
import { costOf } from '../../core/sends/cost.ts'
import { meaningIn } from '../shared/code-table.ts'
import { receiptCodes, vonageCodeOf, vonageCodes } from './codes.ts'
import type { VonageConfig } from './config.ts'

/** https://developer.vonage.com/en/messages/concepts/messages-status-callbacks */
const kinds: Record<string, ReceiptKind> = {
  submitted: 'accepted',
  delivered: 'delivered',
  read: 'read',
  rejected: 'undelivered',
  undeliverable: 'undelivered',
}

/**
 * Status callbacks of the Messages API. The hash of the body is in a signed token (JWT, HS256):
 * https://developer.vonage.com/en/getting-started/concepts/webhooks#decoding-signed-webhooks
 *
 * `{"message_uuid":"…","to":"…","from":"…","timestamp":"2026-11-23T14:00:00.000Z","status":"rejected","client_ref":"…",
 * "error":{"type":"https://developer.vonage.com/api-errors/messages#1300","title":"1300","detail":"…","instance":"…"},
 * "usage":{"price":"0.0333","currency":"EUR"},"sms":{"count_total":"2"}}`
 */
export const vonageReceipts: ReceiptRules<Pick<VonageConfig, 'signatureSecret'>> = {
  words: kinds,
  areForEach: true,
  needPublicUrl: false,
  areOn: ({ signatureSecret }) => signatureSecret !== undefined,
  isProven(request, { signatureSecret = '' }) {
    const [, token = ''] = /^Bearer +([^ ]+)$/i.exec(headerOf(request, 'authorization')) ?? []
    const [head = '', claims = '', given = ''] = token.split('.')
    const expected = createHmac('sha256', signatureSecret).update(`${head}.${claims}`).digest('base64url')
    const isSigned = isSameSecret(given, expected)
    const { alg } = fieldsOf(decoded(head))
    return isSigned && alg === 'HS256' && isOf(request, fieldsOf(decoded(claims)))
  },
  read(request) {
    const json = jsonOf(request)
    if (typeof json !== 'object' || json === null) return { issue: 'body: has to be JSON' }
    const { status, ...fields } = fieldsOf(json)
    if (typeof status !== 'string' || !Object.hasOwn(kinds, status)) {
      return { receipts: [], unexpected: 1, unreadable: 0 }
    }
    return { receipts: [receiptOf(status, fields)], unexpected: 0, unreadable: 0 }
  },
}

const aheadMs = 5 * 60_000
/** Vonage repeats a callback for a day. An old one does no harm, because a repeat changes nothing. */
const oldestMs = 25 * 3_600_000

function isOf({ body, nowMs }: ReceiptRequest, { iat, payload_hash }: Record<string, unknown>): boolean {
  const ageMs = nowMs - Number(iat) * 1000
  return (
    ageMs <= oldestMs && ageMs >= -aheadMs && payload_hash === createHash('sha256').update(body).digest('hex')
  )
}

const decoded = (part: string) => parseJson(Buffer.from(part, 'base64url').toString())

function receiptOf(status: string, fields: Record<string, unknown>): Receipt {
  const { client_ref, message_uuid, timestamp, error, usage, sms } = fields
  const code = vonageCodeOf(fieldsOf(error)) ?? null
  const kind = kinds[status] ?? 'accepted'
  const { price: amount, currency } = fieldsOf(usage)
  const cost = costOf({ amount, currency, parts: fieldsOf(sms).count_total })
  const reason = meaningIn(code, vonageCodes, receiptCodes) ?? 'Vonage could not deliver it'
  return {
    requestId: textOf(client_ref) ?? '',
    kind,
    providerStatus: status,
    providerAt: momentOf(timestamp),
    providerCode: code,
    providerMessageId: textOf(message_uuid),
    ...(cost && { cost }),
    ...(kind === 'undelivered' && { reason }),
  }
}
