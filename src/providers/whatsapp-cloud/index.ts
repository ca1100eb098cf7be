import { defineProvider } from '../define-provider.ts'
import { whatsAppMedia } from '../shared/whatsapp/media.ts'
import { readAnswer, statuses } from './answer.ts'
import { heldBackCodes, suppressingCodes, whatsAppCodes } from './codes.ts'
import { config } from './config.ts'
import { whatsAppReceipts } from './receipts.ts'
import { requestFor, upload } from './request.ts'
import { whatsAppTemplate } from './template.ts'

/** Sends by the WhatsApp Business Platform, hosted by Meta (docs/reference/providers/whatsapp-cloud.md). */
export const whatsappCloud = defineProvider({
  what: 'WhatsApp, by Meta',
  contactTypes: ['phone'],
  messageTypes: ['text', 'template', 'media'],
  maxTextCharacters: 4096,
  media: whatsAppMedia,
  onUncertain: 'hold',
  template: whatsAppTemplate,
  config,
  call: {
    label: 'WhatsApp',
    upload,
    request: requestFor,
    read: readAnswer,
    statuses,
    secretsOf: ({ accessToken }) => [accessToken],
  },
  codes: whatsAppCodes,
  otherCodes: heldBackCodes,
  suppressingCodes,
  receipts: whatsAppReceipts,
})
