import { z } from 'zod'
import { baseUrl } from '../base-url.ts'
import { optional, string } from '../fields.ts'
import { meaningOfStatus } from '../http-status.ts'
import type { ProviderRules } from '../provider.ts'
import { whatsAppMeaning } from './whatsapp-cloud-codes.ts'
import { whatsAppReceipts } from './whatsapp-cloud-receipts.ts'
import { language, whatsAppTemplate } from './whatsapp-cloud-template.ts'

// https://developers.facebook.com/documentation/business-messaging/whatsapp/business-phone-numbers/media#supported-media-types
const images = ['image/jpeg', 'image/png']
const videos = ['video/mp4', 'video/3gpp']
const audios = ['audio/aac', 'audio/amr', 'audio/mpeg', 'audio/mp4', 'audio/ogg']
const documents = [
  'application/pdf',
  'text/plain',
  'application/msword',
  'application/vnd.ms-excel',
  'application/vnd.ms-powerpoint',
  'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
  'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
  'application/vnd.openxmlformats-officedocument.presentationml.presentation',
]

/** That page doesn't say which megabyte it means. With the larger one, nothing is refused that WhatsApp may accept. */
const megabyte = 1024 * 1024

/** Sends by the WhatsApp Business Platform, hosted by Meta (docs/reference/providers/whatsapp-cloud.md). */
export const whatsappCloud = {
  contactTypes: ['phone'],
  messageTypes: ['text', 'template', 'media'],
  maxTextCharacters: 4096,
  media: {
    image: { mimetypes: images, maxBytes: 5 * megabyte, hasCaption: true },
    video: { mimetypes: videos, maxBytes: 16 * megabyte, hasCaption: true },
    audio: { mimetypes: audios, maxBytes: 16 * megabyte, hasCaption: false },
    document: {
      // An upload of any other type is refused with code 100. Media by link may have any type.
      base64Mimetypes: [...documents, ...images, ...videos, ...audios],
      maxBytes: 100 * megabyte,
      hasCaption: true,
    },
  },
  onUncertain: 'hold',
  template: whatsAppTemplate,
  meaningOf: ({ providerStatus, providerCode = '' }) =>
    whatsAppMeaning(providerCode) ?? meaningOfStatus(providerStatus),
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
