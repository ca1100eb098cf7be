import { z } from 'zod'
import { baseUrl } from '../base-url.ts'
import { isLongerThan } from '../characters.ts'
import { besideOtherIssues, optional, string } from '../fields.ts'
import { meaningOfStatus } from '../http-status.ts'
import { maxVariables, variableKey } from '../message-body.ts'
import type { MediaLimits, ProviderRules, TemplateRules } from '../provider.ts'
import { whatsAppValueIssue } from '../template.ts'
import { twilioMeaning, twilioReceipts } from './twilio-receipts.ts'

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
      : 'is not registered with this channel; register it with template set, or send the content SID (HX…) of a Twilio content template',
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

// Twilio refuses larger media: https://www.twilio.com/docs/messaging/guides/accepted-mime-types
const limits: MediaLimits = { maxBytes: 5 * 1024 * 1024, hasCaption: true }
// The accepted types of other media depend on how Twilio sends them, so Twilio itself checks those.
const imageTypes = ['jpeg', 'png', 'gif', 'bmp', 'tiff', 'heic', 'heif', 'webp'].map(
  (name) => `image/${name}`,
)

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
    authToken: string.regex(/^[!-~]{1,256}$/, 'has to be the auth token of the account, without spaces'),
    from: optional(from),
    messagingServiceSid: optional(sid('MG')),
    statusCallback: optional(z.boolean()),
    baseUrl: baseUrl('https://api.twilio.com'),
  })
  .superRefine((given: { from?: unknown; messagingServiceSid?: unknown }, context) => {
    const hasFrom = given.from !== undefined && given.from !== null
    const hasService = given.messagingServiceSid !== undefined && given.messagingServiceSid !== null
    if (hasFrom !== hasService) return
    const message = hasFrom
      ? 'give either from or messagingServiceSid, not both'
      : 'required, or give messagingServiceSid'
    context.addIssue({ code: 'custom', path: ['from'], message })
  }, besideOtherIssues)

/** SMS, MMS and WhatsApp by Twilio (docs/reference/providers/twilio.md). */
export const twilio = {
  contactTypes: ['phone'],
  messageTypes: ['text', 'template', 'media'],
  maxTextCharacters: 1600,
  media: { image: { ...limits, mimetypes: imageTypes }, video: limits, document: limits, audio: limits },
  fetchesMedia: true,
  onUncertain: 'hold',
  template,
  meaningOf: ({ providerStatus, providerCode = '' }) =>
    twilioMeaning(providerCode) ?? meaningOfStatus(providerStatus),
  receipts: twilioReceipts,
  config,
} as const satisfies ProviderRules

export type TwilioConfig = z.output<typeof config>
