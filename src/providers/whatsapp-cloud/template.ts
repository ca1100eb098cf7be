import { z } from 'zod'
import type { TemplateRules } from '../../core/channels/provider.ts'
import type { TemplateMessage } from '../../core/messages/message.ts'
import { maxUrlLength, maxVariables, urlIssue, variableKey } from '../../core/messages/message-body.ts'
import { whatsAppValueIssue } from '../../core/messages/template.ts'
import { isLongerThan } from '../../core/requests/characters.ts'
import { optional, string } from '../../core/requests/fields.ts'

const languageForm = /^[a-z]{2,3}(_[A-Z]{2,3})?$/
export const language = string.regex(languageForm, 'has to be a language code such as en or en_US')

// https://developers.facebook.com/documentation/business-messaging/whatsapp/templates/components
const maxHeaderCharacters = 60
// https://developers.facebook.com/docs/whatsapp/cloud-api/reference/messages#text-object, beside other components. Alone, a body
// may have more than the API accepts.
const maxBodyCharacters = 1024
const maxButtons = 10
// https://developers.facebook.com/docs/whatsapp/cloud-api/guides/send-message-templates/auth-otp-template-messages
const maxOneTimeCodeCharacters = 15
// https://developers.facebook.com/documentation/business-messaging/whatsapp/templates/marketing-templates/coupon-templates
const maxCouponCodeCharacters = 20

const headerTypes = ['text', 'image', 'video', 'document'] as const
type HeaderType = (typeof headerTypes)[number]

const header = z
  .strictObject({
    text: optional(variableKey),
    image: optional(variableKey),
    video: optional(variableKey),
    document: optional(variableKey),
  })
  .refine((given) => headerTypes.filter((type) => given[type] !== undefined).length === 1, {
    error: `has to have one of ${headerTypes.join(', ')}, with the key of its variable`,
  })

const buttonTypes = ['url', 'quick_reply', 'copy_code', 'otp'] as const

const button = z.strictObject({
  index: z
    .number()
    .int('has to be a whole number')
    .min(0, 'at least 0')
    .max(maxButtons - 1, `at most ${maxButtons - 1}`),
  type: z.enum(buttonTypes, `has to be one of ${buttonTypes.join(', ')}`),
  key: variableKey,
})
type Button = z.output<typeof button>

const buttons = z
  .array(button)
  .refine(
    (list) => new Set(list.map(({ index }) => index)).size === list.length,
    'contains an index twice; each button has its own',
  )
  // https://developers.facebook.com/documentation/business-messaging/whatsapp/templates/marketing-templates/coupon-templates
  .refine((list) => list.filter(({ type }) => type === 'copy_code').length <= 1, 'at most one copy_code')

const definition = z
  .strictObject({
    language,
    parameters: z.array(variableKey).max(maxVariables),
    named: optional(z.boolean()),
    header: optional(header),
    buttons: optional(buttons),
  })
  .refine(({ parameters, named }) => !named || new Set(parameters).size === parameters.length, {
    path: ['parameters'],
    error: 'contains a name twice; with named, each name has to be different',
  })
  .superRefine(({ parameters, header: given, buttons: list = [] }, context) => {
    const oneTimeCode = list.find(({ type }) => type === 'otp')
    if (!oneTimeCode) return
    const issue = (path: string, message: string) =>
      context.addIssue({ code: 'custom', path: [path], message })
    if (list.length > 1) issue('buttons', 'otp has to be the only button')
    if (given) issue('header', 'not beside a button of type otp')
    if (parameters.length !== 1 || parameters[0] !== oneTimeCode.key)
      issue(
        'parameters',
        'has to contain the key of the otp button, and no other: the text shows the same code',
      )
  })

export const whatsAppTemplate: TemplateRules = {
  definition,
  variablesOf: (given) => keysOf(definition.parse(given)),
  valueIssue({ key, value }, given) {
    if (!given) return whatsAppValueIssue(value)
    const { parameters, header: ofHeader, buttons: list = [] } = definition.parse(given)
    const issues = [
      parameters.includes(key) ? bodyIssue(value, ofHeader !== undefined || list.length > 0) : undefined,
      ...headerTypes.filter((type) => ofHeader?.[type] === key).map((type) => headerIssue(type, value)),
      ...list.filter((one) => one.key === key).map(({ type }) => buttonIssues[type](value)),
    ]
    return issues.find(Boolean)
  },
}

function keysOf({ parameters, header: given, buttons: list = [] }: z.output<typeof definition>): string[] {
  const ofHeader = headerTypes.map((type) => given?.[type]).filter((key) => key !== undefined)
  return [...new Set([...ofHeader, ...parameters, ...list.map(({ key }) => key)])]
}

function bodyIssue(value: string, isBesideOthers: boolean): string | undefined {
  const beside = 'in a body beside a header or a button'
  return whatsAppValueIssue(value) ?? (isBesideOthers ? tooLong(value, maxBodyCharacters, beside) : undefined)
}

/** WhatsApp fetches the media of a header, so an address that isn't public can't be meant. */
function headerIssue(type: HeaderType, value: string): string | undefined {
  if (type !== 'text') {
    const issue = urlIssue(value, [])
    return issue && `${issue}; it is the link to the ${type} in the header`
  }
  return whatsAppValueIssue(value) ?? tooLong(value, maxHeaderCharacters, 'in the header')
}

const buttonIssues: Record<Button['type'], (value: string) => string | undefined> = {
  url: (value) =>
    (/[\s\p{Cc}]/u.test(value) ? 'contains white space, as the end of a URL; write it as %20' : undefined) ??
    emptyIssue(value) ??
    tooLong(value, maxUrlLength, 'as the end of a URL'),
  quick_reply: emptyIssue,
  copy_code: (value) =>
    whatsAppValueIssue(value) ?? tooLong(value, maxCouponCodeCharacters, 'as a code to copy'),
  otp: (value) => whatsAppValueIssue(value) ?? tooLong(value, maxOneTimeCodeCharacters, 'as a one-time code'),
}

function emptyIssue(value: string): string | undefined {
  return value === '' ? 'is empty, which this channel does not accept in a button' : undefined
}

function tooLong(value: string, max: number, where: string): string | undefined {
  return isLongerThan(value, max) ? `at most ${max} characters ${where}` : undefined
}

/**
 * Language and components of a template message, as the API has them. An unregistered template has the channel's default
 * language, and its body gets the variables in the order of the send.
 */
export function filledTemplate(
  { definition: given, variables }: TemplateMessage,
  defaultLanguage: string,
): { language: string; components: object[] } {
  if (!given) {
    const parameters = variables.map(({ value }) => ({ type: 'text', text: value }))
    return { language: defaultLanguage, components: component({ type: 'body' }, parameters) }
  }
  const { language: code, parameters, named, header: ofHeader, buttons: list = [] } = definition.parse(given)
  const values = new Map(variables.map(({ key, value }) => [key, value]))
  const filled = (key: string) => values.get(key) ?? ''
  const text = (key: string) => ({
    type: 'text',
    text: filled(key),
    ...(named && { parameter_name: key }),
  })
  const headerParameter = (type: HeaderType, key: string) =>
    type === 'text' ? text(key) : { type, [type]: { link: filled(key) } }
  const headerParameters = headerTypes.flatMap((type) => {
    const key = ofHeader?.[type]
    return key === undefined ? [] : [headerParameter(type, key)]
  })
  return {
    language: code,
    components: [
      ...component({ type: 'header' }, headerParameters),
      ...component({ type: 'body' }, parameters.map(text)),
      ...list.flatMap((one) => buttonComponent(one, filled(one.key))),
    ],
  }
}

function component(fields: object, parameters: object[]): object[] {
  return parameters.length === 0 ? [] : [{ ...fields, parameters }]
}

/** The button of a one-time code is a URL button to WhatsApp, whatever its type was when the template was created. */
function buttonComponent({ type, index }: Button, value: string): object[] {
  const fields = { type: 'button', sub_type: type === 'otp' ? 'url' : type, index: String(index) }
  return component(fields, [buttonParameters[type](value)])
}

const buttonParameters: Record<Button['type'], (value: string) => object> = {
  url: (text) => ({ type: 'text', text }),
  otp: (text) => ({ type: 'text', text }),
  quick_reply: (payload) => ({ type: 'payload', payload }),
  copy_code: (coupon_code) => ({ type: 'coupon_code', coupon_code }),
}
