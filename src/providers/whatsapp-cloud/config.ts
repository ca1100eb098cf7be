import { z } from 'zod'
import { baseUrl } from '../../core/channels/base-url.ts'
import { optional, string } from '../../core/requests/fields.ts'
import { language } from './template.ts'

export const config = z.strictObject({
  phoneNumberId: string
    .regex(/^\d{1,32}$/, "has to be the number's id, digits only; not the number itself")
    .describe("the number's id, as Meta shows it: digits; not the number itself"),
  accessToken: string
    .regex(/^[!-~]{1,4096}$/, 'has to be the access token, on one line and without spaces')
    .describe('the access token of the system user'),
  apiVersion: optional(string.regex(/^v\d{1,3}\.\d{1,3}$/, 'has to be of the form v23.0'))
    .transform((value) => value ?? 'v23.0')
    .describe('of the Graph API; default: v23.0'),
  defaultLanguage: optional(language)
    .transform((value) => value ?? 'en_US')
    .describe("of templates that aren't registered, e.g. en or pt_BR; default: en_US"),
  appSecret: optional(
    string.regex(/^[!-~]{1,256}$/, "has to be the app's secret, on one line and without spaces"),
  ).describe('of the Meta app: turns receipts on, with verifyToken'),
  verifyToken: optional(
    string.regex(/^[!-~]{1,256}$/, 'has to be the token of the webhook, on one line and without spaces'),
  ).describe("of the app's webhook: turns receipts on, with appSecret"),
  // 360dialog takes its key in this header, and knows the number by the key.
  keyHeader: optional(z.literal('D360-API-KEY', 'has to be D360-API-KEY, or be left out')).describe(
    'D360-API-KEY for a number at 360dialog; else empty',
  ),
  baseUrl: baseUrl('https://graph.facebook.com'),
})

export type WhatsAppCloudConfig = z.output<typeof config>
