import { z } from 'zod'
import { baseUrl } from '../../core/channels/base-url.ts'
import type { MediaLimits, ProviderRules, TemplateRules } from '../../core/channels/provider.ts'
import type { MediaType } from '../../core/messages/message.ts'
import { maxVariables, variableKey } from '../../core/messages/message-body.ts'
import { whatsAppValueIssue } from '../../core/messages/template.ts'
import { isLongerThan } from '../../core/requests/characters.ts'
import { besideOtherIssues, optional, string } from '../../core/requests/fields.ts'
import { meaningOfStatus } from '../../core/requests/http-status.ts'
import { knownCode } from '../shared/code-table.ts'
import { twilioCodes, twilioSuppressingCodes } from './codes.ts'
import { twilioMeaning, twilioReceipts } from './receipts.ts'

const sid = (prefix: string) =>
  string.regex(new RegExp(`^${prefix}[0-9a-fA-F]{32}$`), `has to be ${prefix} and 32 hexadecimal digits`)

const contentSid = sid('HX')

// https://www.twilio.com/docs/content/using-variables-with-content-api
const placeholder = string.regex(/^[A-Za-z0-9]\w{0,15}$/)
const placeholderIssue =
  'has to be the name of a variable of the content template: 1 to 16 letters, digits or underscores'
const recordIssues: Record<string, string> = {
  invalid_type: 'has to be an object such as {"1":"name"}',
  invalid_key: placeholderIssue,
}

const definition = z.strictObject({
  contentSid,
  variables: z
    .record(placeholder, variableKey, { error: ({ code = '' }) => recordIssues[code] })
    .refine((variables) => Object.keys(variables).length <= maxVariables, `at most ${maxVariables}`)
    .default({}),
})

// https://www.twilio.com/docs/api/errors/21658
const maxValueCharacters = 1600

/** Twilio's content templates. `variables` maps each of their variables to the key of a send's variable. */
const template = {
  definition,
  variablesOf: (given) => [...new Set(Object.values(definition.parse(given).variables))],
  unregisteredKeyIssue: (key) => (placeholder.safeParse(key).success ? undefined : placeholderIssue),
  valueIssue: ({ value }) =>
    isLongerThan(value, maxValueCharacters)
      ? `at most ${maxValueCharacters} characters on this channel`
      : whatsAppValueIssue(value),
  unregisteredIssue: (name) =>
    contentSid.safeParse(name).success
      ? undefined
      : 'is not registered with this channel; register it with outbound template set, or send the content SID (HX…) of a Twilio content template',
} satisfies TemplateRules

/** A template message in Twilio's terms. The name of an unregistered template is its content SID. */
export function contentOf(message: {
  name: string
  variables: { key: string; value: string }[]
  definition?: object | undefined
}): { contentSid: string; variables: Record<string, string> } {
  const values = new Map(message.variables.map(({ key, value }) => [key, value]))
  if (!message.definition) return { contentSid: message.name, variables: Object.fromEntries(values) }
  const { contentSid, variables } = definition.parse(message.definition)
  const filled = Object.entries(variables).map(([name, key]) => [name, values.get(key) ?? ''])
  return { contentSid, variables: Object.fromEntries(filled) }
}

const megabyte = 1024 * 1024

// Twilio refuses larger media: https://www.twilio.com/docs/messaging/guides/accepted-mime-types
const mms: MediaLimits = { maxBytes: 5 * megabyte, hasCaption: true }
// The accepted types of other media depend on how Twilio sends them, so Twilio itself checks those.
const imageTypes = ['jpeg', 'png', 'gif', 'bmp', 'tiff', 'heic', 'heif'].map((name) => `image/${name}`)

// https://www.twilio.com/docs/whatsapp/guidance-whatsapp-media-messages
const whatsApp: MediaLimits = { maxBytes: 16 * megabyte, hasCaption: false }
const office = 'application/vnd.openxmlformats-officedocument'
const documentTypes = [
  'application/pdf',
  'application/msword',
  `${office}.wordprocessingml.document`,
  `${office}.presentationml.presentation`,
  `${office}.spreadsheetml.sheet`,
  'text/vcard',
  'text/x-vcard',
]
const byWhatsApp = {
  image: {
    mimetypes: ['image/jpeg', 'image/png', 'image/webp'],
    maxBytes: 5 * megabyte,
    hasCaption: true,
  },
  video: { ...whatsApp, mimetypes: ['video/mp4'], hasCaption: true },
  document: {
    ...whatsApp,
    mimetypes: documentTypes,
    filenameIssue: () => 'not with document on this channel',
  },
  audio: { ...whatsApp, mimetypes: ['ogg', 'amr', '3gpp', 'aac', 'mpeg'].map((name) => `audio/${name}`) },
} as const satisfies Record<MediaType, MediaLimits>

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

const config = z
  .strictObject({
    accountSid: sid('AC'),
    authToken: optional(
      string.regex(/^[!-~]{1,256}$/, 'has to be the auth token of the account, without spaces'),
    ),
    apiKeySid: optional(sid('SK')),
    apiKeySecret: optional(
      string.regex(/^[!-~]{1,256}$/, 'has to be the secret of the API key, without spaces'),
    ),
    from: optional(from),
    messagingServiceSid: optional(sid('MG')),
    statusCallback: optional(z.boolean()),
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

/** SMS, MMS and WhatsApp by Twilio (docs/reference/providers/twilio.md). */
export const twilio = {
  contactTypes: ['phone'],
  messageTypes: ['text', 'template', 'media'],
  maxTextCharacters: 1600,
  media: { image: { ...mms, mimetypes: imageTypes }, video: mms, document: mms, audio: mms },
  limitsOf: (config) => (isByWhatsApp(config as TwilioConfig) ? { media: byWhatsApp } : {}),
  fetchesMedia: true,
  onUncertain: 'hold',
  template,
  meaningOf: ({ providerStatus, providerCode = '' }) =>
    twilioMeaning(providerCode) ?? meaningOfStatus(providerStatus),
  failureOf: (code) => knownCode(twilioCodes, code),
  suppressingCodes: twilioSuppressingCodes,
  receipts: twilioReceipts,
  config,
} as const satisfies ProviderRules

export type TwilioConfig = z.output<typeof config>

/** A sender of WhatsApp, alone or of a messaging service, reaches contacts by WhatsApp. */
export const isByWhatsApp = ({ from: sender }: TwilioConfig) => sender?.startsWith('whatsapp:') === true
