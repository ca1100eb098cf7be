import { defineProvider } from '../define-provider.ts'
import { whatsAppMedia } from '../shared/whatsapp/media.ts'
import { readAnswer, statuses } from './answer.ts'
import { receiptCodes, suppressingCodes, vonageCodes } from './codes.ts'
import { config } from './config.ts'
import { vonageReceipts } from './receipts.ts'
import { requestFor } from './request.ts'
import { template } from './template.ts'

// A document is given to WhatsApp by its link, so it may have any type. https://developer.vonage.com/en/api/messages
const { image, video, audio } = whatsAppMedia
const media = { image, video, audio, document: { hasCaption: true } } as const

/** SMS and WhatsApp by the Messages API of Vonage (docs/reference/providers/vonage.md). */
export const vonage = defineProvider({
  what: 'SMS and WhatsApp, by Vonage',
  contactTypes: ['phone'],
  messageTypes: ['text', 'template', 'media'],
  maxTextCharacters: 4096,
  media,
  ways: { SMS: { messageTypes: ['text'], maxTextCharacters: 1000, sendsSms: true }, WhatsApp: {} },
  wayOf: ({ via }) => (via === 'sms' ? 'SMS' : 'WhatsApp'),
  fetchesMedia: true,
  onUncertain: 'hold',
  template,
  config,
  call: {
    label: 'Vonage',
    request: requestFor,
    read: readAnswer,
    statuses,
    secretsOf: ({ apiKey, apiSecret }) => [apiKey, apiSecret],
  },
  codes: vonageCodes,
  otherCodes: receiptCodes,
  suppressingCodes,
  receipts: vonageReceipts,
})
