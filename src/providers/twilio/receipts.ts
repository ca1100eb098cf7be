import { createHmac } from 'node:crypto'
import { isSameSecret } from '../../core/accounts/same-secret.ts'
import type { Receipt, ReceiptKind, ReceiptRequest, ReceiptRules } from '../../core/receipts/receipt.ts'
import { contentTypeOf, fieldsOf, headerOf, parseJson, wordOf } from '../../core/receipts/receipt-request.ts'
import { costOf } from '../../core/sends/cost.ts'
import { meaningIn } from '../shared/code-table.ts'
import { receiptCodes, twilioCodes } from './codes.ts'
import { isByWhatsApp, type Login, type TwilioConfig, twilioAuthorization } from './config.ts'

type Receiving = Login &
  Pick<TwilioConfig, 'baseUrl'> &
  Partial<Pick<TwilioConfig, 'statusCallback' | 'from'>>

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

/**
 * Status callbacks: https://www.twilio.com/docs/messaging/guides/outbound-message-status-in-status-callbacks
 *
 * `MessageSid=SM…&MessageStatus=undelivered&ErrorCode=30003&AccountSid=AC…&To=…&From=…&ApiVersion=2010-04-01&NumSegments=2`
 */
export const twilioReceipts: ReceiptRules<Receiving> = {
  words: kinds,
  areForEach: true,
  needPublicUrl: true,
  areOn: ({ statusCallback, authToken }) => statusCallback === true && authToken !== undefined,
  isProven(request, { authToken = '' }) {
    if (hasTooManyFields(request)) return false
    const given = headerOf(request, 'x-twilio-signature')
    const fields = signedText(formOf(request) ?? new URLSearchParams())
    return addressesOf(request).some((url) => isSameSecret(given, signatureOf(url + fields, authToken)))
  },
  read(request, config) {
    const form = formOf(request)
    if (!form) return { issue: 'Content-Type: has to be application/x-www-form-urlencoded' }
    const query = new URLSearchParams(request.target.split('?')[1])
    const status = form.get('MessageStatus') ?? ''
    if (!Object.hasOwn(kinds, status)) return { receipts: [], unexpected: 1, unreadable: 0 }
    const receipt = receiptOf(query.get('requestId') ?? '', status, form)
    // A message by WhatsApp has no segments, whatever the number.
    const cost = isByWhatsApp(config) ? undefined : costOf({ parts: form.get('NumSegments') })
    return { receipts: [{ ...receipt, ...(cost && { cost }) }], unexpected: 0, unreadable: 0 }
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
  const reason = meaningIn(providerCode, twilioCodes, receiptCodes) ?? 'Twilio could not deliver it'
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
export const overrides = '#rc=5&rp=5xx,ct,rt'
