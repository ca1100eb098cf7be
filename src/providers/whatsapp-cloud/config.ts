import { z } from 'zod'
import { baseUrl } from '../../core/channels/base-url.ts'
import type { ProviderRules } from '../../core/channels/provider.ts'
import { optional, string } from '../../core/requests/fields.ts'
import { meaningOfStatus } from '../../core/requests/http-status.ts'
import { whatsAppMedia } from '../shared/whatsapp/media.ts'
import { whatsAppCode, whatsAppMeaning, whatsAppSuppressingCodes } from './codes.ts'
import { whatsAppReceipts } from './receipts.ts'
import { language, whatsAppTemplate } from './template.ts'

/** Sends by the WhatsApp Business Platform, hosted by Meta (docs/reference/providers/whatsapp-cloud.md). */
export const whatsappCloud = {
  contactTypes: ['phone'],
  messageTypes: ['text', 'template', 'media'],
  maxTextCharacters: 4096,
  media: whatsAppMedia,
  onUncertain: 'hold',
  template: whatsAppTemplate,
  meaningOf: ({ providerStatus, providerCode = '' }) =>
    whatsAppMeaning(providerCode) ?? meaningOfStatus(providerStatus),
  failureOf: whatsAppCode,
  suppressingCodes: whatsAppSuppressingCodes,
  receipts: whatsAppReceipts,
  config: z.strictObject({
    phoneNumberId: string.regex(
      /^\d{1,32}$/,
      "has to be the number's id, digits only; not the number itself",
    ),
    accessToken: string.regex(
      /^[!-~]{1,4096}$/,
      'has to be the access token, on one line and without spaces',
    ),
    apiVersion: optional(string.regex(/^v\d{1,3}\.\d{1,3}$/, 'has to be of the form v23.0')).transform(
      (value) => value ?? 'v23.0',
    ),
    defaultLanguage: optional(language).transform((value) => value ?? 'en_US'),
    appSecret: optional(
      string.regex(/^[!-~]{1,256}$/, "has to be the app's secret, on one line and without spaces"),
    ),
    verifyToken: optional(
      string.regex(/^[!-~]{1,256}$/, 'has to be the token of the webhook, on one line and without spaces'),
    ),
    baseUrl: baseUrl('https://graph.facebook.com'),
  }),
} as const satisfies ProviderRules

export type WhatsAppCloudConfig = z.output<typeof whatsappCloud.config>
