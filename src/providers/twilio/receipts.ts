import { createHmac } from 'node:crypto'
import { isSameSecret } from '../../core/accounts/same-secret.ts'
import type { Receipt, ReceiptKind, ReceiptRequest, ReceiptRules } from '../../core/receipts/receipt.ts'
import { contentTypeOf, fieldsOf, headerOf, parseJson, wordOf } from '../../core/receipts/receipt-request.ts'
import { twilioCodes } from './codes.ts'
import { twilioAuthorization } from './login.ts'

interface TwilioReceiptConfig {
  accountSid: string
  authToken?: string | undefined
  apiKeySid?: string | undefined
  apiKeySecret?: string | undefined
  baseUrl: string
  statusCallback?: boolean | undefined
}

const kinds: Record<string, ReceiptKind> = {
  accepted: 'accepted',
  scheduled: 'accepted',
  queued: 'accepted',
  sending: 'accepted',
  sent: 'accepted',
  delivered: 'delivered',
  read: 'read',
  undelivered: 'undelivered',
  failed: 'undelivered',
}

/** Codes that come with a receipt only. Each has a page: https://www.twilio.com/docs/api/errors/<code> */
const deliveryCodes: Record<string, string> = {
  30001: 'its queue was full',
  30002: 'the account was suspended',
  30003: 'the phone is switched off, out of reach, or takes no messages',
  30004: 'the message was blocked, or the number takes no messages',
  30005: 'the number is unknown, or no longer in use',
  30006: 'the number is a landline, or its carrier cannot be reached',
  30007: 'a carrier filtered the message as unwanted',
  30008: 'the carrier gave no reason',
  30009: 'a part of the message was lost',
  30010: 'the price was above the limit of the message',
  30034: 'the sending number is not registered for messages to this country',
}

/** What a code of a failure means: of an answer, or of a receipt. */
export const twilioMeaning = (code: string): string | undefined =>
  twilioCodes[code]?.meaning ?? deliveryCodes[code]

/**
 * Status callbacks: https://www.twilio.com/docs/messaging/guides/outbound-message-status-in-status-callbacks
 *
 * `MessageSid=SM…&MessageStatus=undelivered&ErrorCode=30003&AccountSid=AC…&To=…&From=…&ApiVersion=2010-04-01`
 */
export const twilioReceipts: ReceiptRules<TwilioReceiptConfig> = {
  areForEach: true,
  needPublicUrl: true,
  areOn: ({ statusCallback, authToken }) => statusCallback === true && authToken !== undefined,
  isProven(request, { authToken = '' }) {
    if (hasTooManyFields(request)) return false
    const given = headerOf(request, 'x-twilio-signature')
    const fields = signedText(formOf(request) ?? new URLSearchParams())
    return addressesOf(request).some((url) => isSameSecret(given, signatureOf(url + fields, authToken)))
  },
  read(request) {
    const form = formOf(request)
    if (!form) return { issue: 'Content-Type: has to be application/x-www-form-urlencoded' }
    const query = new URLSearchParams(request.target.split('?')[1])
    const status = form.get('MessageStatus') ?? ''
    if (!Object.hasOwn(kinds, status)) return { receipts: [], unexpected: 1, unreadable: 0 }
    return { receipts: [receiptOf(query.get('requestId') ?? '', status, form)], unexpected: 0, unreadable: 0 }
  },
  // https://www.twilio.com/docs/messaging/api/message-resource#fetch-a-message-resource
  fetching: {
    requestFor: (sid, config) => ({
      url: `${config.baseUrl}/2010-04-01/Accounts/${config.accountSid}/Messages/${encodeURIComponent(sid)}.json`,
      headers: { authorization: twilioAuthorization(config), accept: 'application/json' },
    }),
    read(requestId, body) {
      const { sid, status, error_code } = fieldsOf(parseJson(body))
      if (typeof status !== 'string' || !Object.hasOwn(kinds, status)) return undefined
      const fields: Record<string, unknown> = { MessageSid: sid, ErrorCode: error_code }
      return receiptOf(requestId, status, { get: (name) => wordOf(fields[name]) || null })
    },
  },
}

/** The receipt in the fields of a status callback, or of a message as Twilio's API returns it. */
function receiptOf(requestId: string, status: string, fields: Pick<URLSearchParams, 'get'>): Receipt {
  const code = fields.get('ErrorCode') ?? ''
  const providerCode = /^[1-9]\d{0,5}$/.test(code) ? code : null
  const kind = kinds[status] ?? 'accepted'
  const reason = twilioMeaning(providerCode ?? '') ?? 'Twilio could not deliver it'
  return {
    requestId,
    kind,
    providerStatus: status,
    // YYMMDDhhmm, of no known time zone.
    providerAt: fields.get('RawDlrDoneDate'),
    providerCode,
    providerMessageId: fields.get('MessageSid'),
    ...(kind === 'undelivered' && { reason }),
  }
}

/** Twilio sends about 20. More would be read and sorted for a caller whose signature isn't checked yet. */
const maxFields = 1000

const hasTooManyFields = ({ body }: ReceiptRequest): boolean =>
  body.toString('latin1').split('&', maxFields + 1).length > maxFields

function formOf(request: ReceiptRequest): URLSearchParams | undefined {
  if (contentTypeOf(request) !== 'application/x-www-form-urlencoded') return undefined
  return new URLSearchParams(request.body.toString())
}

/**
 * The address that Twilio called, as it may have signed it: some of its products sign the port, others don't. Never by the Host
 * header, which a caller chooses. Twilio's documents don't say whether it signs the fragment.
 */
function addressesOf({ publicBaseUrl = '', target }: ReceiptRequest): string[] {
  const url = publicBaseUrl.replace(/\/+$/, '') + target
  const [, scheme = '', host = '', rest = ''] = /^(https?):\/\/([^/?]+)(.*)$/i.exec(url) ?? []
  const bare = host.replace(/:\d+$/, '')
  const port = /:\d+$/.exec(host)?.[0] ?? (scheme.toLowerCase() === 'https' ? ':443' : ':80')
  const addresses = new Set([url, `${scheme}://${bare}${rest}`, `${scheme}://${bare}${port}${rest}`])
  return [...addresses].flatMap((address) => [address, address + overrides])
}

/** https://www.twilio.com/docs/usage/security#validating-requests: a repeated field's values count once, in order. */
function signedText(fields: URLSearchParams): string {
  const names = [...new Set(fields.keys())].sort()
  const values = (name: string) => [...new Set(fields.getAll(name))].sort()
  return names.flatMap((name) => values(name).map((value) => name + value)).join('')
}

const signatureOf = (text: string, authToken: string) =>
  createHmac('sha1', authToken).update(text).digest('base64')

/** It tries again if the connection or the answer fails: https://www.twilio.com/docs/usage/webhooks/webhooks-connection-overrides */
const overrides = '#rc=5&rp=5xx,ct,rt'

/** Where Twilio sends a message's receipts. */
export function statusCallbackUrl(publicBaseUrl: string, channelId: string, requestId: string): string {
  const base = publicBaseUrl.replace(/\/+$/, '')
  return `${base}/receipts/${channelId}?requestId=${requestId}${overrides}`
}
