import { z } from 'zod'
import { baseUrl } from '../../core/channels/base-url.ts'
import { besideOtherIssues, optional, string } from '../../core/requests/fields.ts'

export const sid = (prefix: string) =>
  string.regex(new RegExp(`^${prefix}[0-9a-fA-F]{32}$`), `has to be ${prefix} and 32 hexadecimal digits`)

const fromForms = [
  /^(whatsapp:)?\+[1-9]\d{6,14}$/,
  // Short code.
  /^\d{3,8}$/,
  // Alphanumeric sender.
  /^(?=.*[A-Za-z])[A-Za-z0-9 +_&-]{1,11}$/,
]

const from = string.refine((value) => fromForms.some((form) => form.test(value)), {
  error: 'has to be a number such as +15550100100, whatsapp: and a number, a short code, or a sender name',
})

export const config = z
  .strictObject({
    accountSid: sid('AC').describe('of the account: AC and 32 hexadecimal digits'),
    authToken: optional(
      string.regex(/^[!-~]{1,256}$/, 'has to be the auth token of the account, without spaces'),
    ).describe('the auth token of the account: a login, and what receipts are signed with'),
    apiKeySid: optional(sid('SK')).describe(
      'an API key, SK and 32 hexadecimal digits: a login that can be revoked alone',
    ),
    apiKeySecret: optional(
      string.regex(/^[!-~]{1,256}$/, 'has to be the secret of the API key, without spaces'),
    ).describe('the secret of the API key'),
    from: optional(from).describe(
      'a number such as +15550100100, a short code, a sender name, or whatsapp: and a number; or give messagingServiceSid',
    ),
    messagingServiceSid: optional(sid('MG')).describe('a messaging service: MG and 32 hexadecimal digits'),
    statusCallback: optional(z.boolean()).describe(
      'whether Twilio reports what becomes of each message; needs authToken; default: no',
    ),
    baseUrl: baseUrl('https://api.twilio.com'),
  })
  .superRefine((given: Record<string, unknown>, context) => {
    const has = (name: string) => given[name] !== undefined && given[name] !== null
    const issue = (path: string, message: string) =>
      context.addIssue({ code: 'custom', path: [path], message })
    if (!has('from') && !has('messagingServiceSid')) issue('from', 'required, or give messagingServiceSid')
    if (has('apiKeySid') && !has('apiKeySecret')) issue('apiKeySecret', 'required beside apiKeySid')
    else if (has('apiKeySecret') && !has('apiKeySid')) issue('apiKeySid', 'required beside apiKeySecret')
    else if (!has('apiKeySid') && !has('authToken'))
      issue('authToken', 'required, or give apiKeySid and apiKeySecret')
    if (given.statusCallback === true && has('apiKeySid') && !has('authToken'))
      issue('authToken', 'required for statusCallback: Twilio signs receipts with it, not with an API key')
  }, besideOtherIssues)

export type TwilioConfig = z.output<typeof config>

/** A sender of WhatsApp, alone or of a messaging service, reaches contacts by WhatsApp. */
export const isByWhatsApp = ({ from: sender }: Partial<Pick<TwilioConfig, 'from'>>) =>
  sender?.startsWith('whatsapp:') === true

export type Login = Pick<TwilioConfig, 'accountSid'> &
  Partial<Pick<TwilioConfig, 'authToken' | 'apiKeySid' | 'apiKeySecret'>>

/** The header of a call to Twilio: by the API key, if the channel has one, else by the account's token. */
export function twilioAuthorization(config: Login): string {
  const { accountSid, authToken, apiKeySid = accountSid, apiKeySecret = authToken } = config
  return `Basic ${Buffer.from(`${apiKeySid}:${apiKeySecret}`).toString('base64')}`
}
