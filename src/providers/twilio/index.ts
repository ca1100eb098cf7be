import { defineProvider } from '../define-provider.ts'
import { readAnswer } from './answer.ts'
import { receiptCodes, suppressingCodes, twilioCodes } from './codes.ts'
import { config, isByWhatsApp } from './config.ts'
import { byMms, byWhatsApp } from './media.ts'
import { twilioReceipts } from './receipts.ts'
import { requestFor } from './request.ts'
import { template } from './template.ts'

/** SMS, MMS and WhatsApp by Twilio (docs/reference/providers/twilio.md). */
export const twilio = defineProvider({
  what: 'SMS, MMS and WhatsApp, by Twilio',
  contactTypes: ['phone'],
  messageTypes: ['text', 'template', 'media'],
  maxTextCharacters: 1600,
  media: byMms,
  ways: { MMS: { sendsSms: true }, WhatsApp: { media: byWhatsApp } },
  wayOf: (given) => (isByWhatsApp(given) ? 'WhatsApp' : 'MMS'),
  fetchesMedia: true,
  onUncertain: 'hold',
  template,
  config,
  call: {
    label: 'Twilio',
    request: requestFor,
    read: readAnswer,
    secretsOf: ({ authToken, apiKeySecret }) => [authToken, apiKeySecret],
  },
  codes: twilioCodes,
  otherCodes: receiptCodes,
  suppressingCodes,
  receipts: twilioReceipts,
})
