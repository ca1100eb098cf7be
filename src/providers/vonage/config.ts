import { createPrivateKey } from 'node:crypto'
import { z } from 'zod'
import { baseUrl } from '../../core/channels/base-url.ts'
import type { ProviderRules, TemplateRules } from '../../core/channels/provider.ts'
import type { TemplateMessage } from '../../core/messages/message.ts'
import { maxVariables, variableKey } from '../../core/messages/message-body.ts'
import { whatsAppValueIssue } from '../../core/messages/template.ts'
import { besideOtherIssues, optional, string } from '../../core/requests/fields.ts'
import { meaningOfStatus } from '../../core/requests/http-status.ts'
import { knownCode } from '../shared/code-table.ts'
import { whatsAppMedia } from '../shared/whatsapp/media.ts'
import { vonageCodes } from './codes.ts'
import { vonageMeaning, vonageReceipts, vonageSuppressingCodes } from './receipts.ts'

const language = string.regex(/^[a-z]{2,3}(_[A-Z]{2,3})?$/, 'has to be a language code such as en or en_US')

const definition = z.strictObject({ language, parameters: z.array(variableKey).max(maxVariables) })

const template = {
  definition,
  variablesOf: (given) => [...new Set(definition.parse(given).parameters)],
  valueIssue: ({ value }) => whatsAppValueIssue(value),
  unregisteredIssue: () => 'is not registered with this channel; register it with outbound template set',
} satisfies TemplateRules

/** Language and parameters of a template message. */
export function parametersOf({ definition: given, variables }: TemplateMessage) {
  const { language: locale, parameters } = definition.parse(given)
  const values = new Map(variables.map(({ key, value }) => [key, value]))
  return { locale, parameters: parameters.map((key) => values.get(key) ?? '') }
}

const secret = string.regex(/^[!-~]{1,256}$/, 'has to be on one line and without spaces')

const privateKey = string.refine(
  isRsaKey,
  'has to be the private key of the application: PEM, from its first line to its last',
)

const fromForms = {
  sms: /^(\+?[1-9]\d{2,14}|(?=.*[A-Za-z])[A-Za-z0-9 ]{1,11})$/,
  whatsapp: /^\+?[1-9]\d{6,14}$/,
}

const config = z
  .strictObject({
    via: z.enum(['sms', 'whatsapp'], 'has to be sms or whatsapp'),
    from: string,
    apiKey: optional(secret),
    apiSecret: optional(secret),
    applicationId: optional(z.guid('has to be the id of the application')),
    privateKey: optional(privateKey),
    signatureSecret: optional(secret),
    baseUrl: baseUrl('https://api.nexmo.com'),
  })
  .superRefine((given: Record<string, unknown>, context) => {
    const issue = (path: string, message: string) =>
      context.addIssue({ code: 'custom', path: [path], message })
    const has = (name: string) => given[name] !== undefined && given[name] !== null
    const missing = (of: string, beside: string) => {
      if (has(beside) && !has(of)) issue(of, `required beside ${beside}`)
    }
    missing('apiSecret', 'apiKey')
    missing('apiKey', 'apiSecret')
    missing('privateKey', 'applicationId')
    missing('applicationId', 'privateKey')
    const logins = ['apiKey', 'apiSecret', 'applicationId', 'privateKey'].filter(has)
    if (logins.length === 0) issue('apiKey', 'required with apiSecret, or give applicationId and privateKey')
    if (has('apiKey') && has('applicationId')) issue('apiKey', 'not beside applicationId; give one login')
    const form = fromForms[given.via as 'sms' | 'whatsapp']
    if (form && typeof given.from === 'string' && !form.test(given.from)) {
      const orName = given.via === 'sms' ? ', or a sender name of at most 11 letters and digits' : ''
      issue('from', `has to be a number such as +15550100100${orName}`)
    }
  }, besideOtherIssues)

// A document is given to WhatsApp by its link, so it may have any type. https://developer.vonage.com/en/api/messages
const { image, video, audio } = whatsAppMedia
const media = { image, video, audio, document: { hasCaption: true } } as const

/** SMS and WhatsApp by the Messages API of Vonage (docs/reference/providers/vonage.md). */
export const vonage = {
  contactTypes: ['phone'],
  messageTypes: ['text', 'template', 'media'],
  maxTextCharacters: 4096,
  media,
  limitsOf: (given) =>
    (given as VonageConfig).via === 'sms' ? { messageTypes: ['text'], maxTextCharacters: 1000 } : {},
  fetchesMedia: true,
  onUncertain: 'hold',
  template,
  meaningOf: ({ providerStatus, providerCode = '' }) =>
    vonageMeaning(providerCode) ?? meaningOfStatus(providerStatus),
  failureOf: (code) => knownCode(vonageCodes, code),
  suppressingCodes: vonageSuppressingCodes,
  receipts: vonageReceipts,
  config,
} as const satisfies ProviderRules

export type VonageConfig = z.output<typeof config>

function isRsaKey(pem: string): boolean {
  try {
    return createPrivateKey(pem).asymmetricKeyType === 'rsa'
  } catch {
    return false
  }
}
