import { z } from 'zod'
import type { GraphFault } from './media.ts'

// https://developers.facebook.com/documentation/business-messaging/whatsapp/messages/send-messages, and its pages
// text-messages, image-messages, video-messages, document-messages, audio-messages and template-messages.
const asset = (fields: z.ZodRawShape) =>
  z
    .strictObject({ id: z.string().optional(), link: z.url().optional(), ...fields })
    .refine(({ id, link }) => (id === undefined) !== (link === undefined))
const caption = z.string().max(1024).optional()

const text = z.strictObject({
  type: z.literal('text'),
  text: z.string(),
  parameter_name: z.string().optional(),
})

// https://developers.facebook.com/documentation/business-messaging/whatsapp/templates/components
const header = z.strictObject({
  type: z.literal('header'),
  parameters: z.tuple([
    z.discriminatedUnion('type', [
      text.extend({ text: z.string().max(60) }),
      z.strictObject({ type: z.literal('image'), image: asset({}) }),
      z.strictObject({ type: z.literal('video'), video: asset({}) }),
      z.strictObject({ type: z.literal('document'), document: asset({ filename: z.string().optional() }) }),
    ]),
  ]),
})
const body = z.strictObject({ type: z.literal('body'), parameters: z.array(text).min(1) })

// https://whatsapp.github.io/WhatsApp-Nodejs-SDK/api-reference/types/button_parameter_object, and for the code of a coupon:
// https://developers.facebook.com/documentation/business-messaging/whatsapp/templates/marketing-templates/coupon-templates
const buttonOf = <Parameter extends z.ZodType>(subType: string, parameter: Parameter) =>
  z.strictObject({
    type: z.literal('button'),
    sub_type: z.literal(subType),
    index: z.string().regex(/^\d$/),
    parameters: z.tuple([parameter]),
  })
const button = z.discriminatedUnion('sub_type', [
  buttonOf('url', z.strictObject({ type: z.literal('text'), text: z.string().min(1) })),
  buttonOf('quick_reply', z.strictObject({ type: z.literal('payload'), payload: z.string().min(1) })),
  buttonOf('copy_code', z.strictObject({ type: z.literal('coupon_code'), coupon_code: z.string().min(1) })),
])
const component = z.discriminatedUnion('type', [header, body, button])

const types = {
  text: z.strictObject({ body: z.string().min(1).max(4096), preview_url: z.boolean().optional() }),
  image: asset({ caption }),
  video: asset({ caption }),
  document: asset({ caption, filename: z.string().optional() }),
  audio: asset({}),
  template: z.strictObject({
    name: z.string().max(512),
    language: z.strictObject({ code: z.string() }),
    components: z.array(component).optional(),
  }),
}
const typeNames = Object.keys(types) as [keyof typeof types, ...(keyof typeof types)[]]

const message = z.strictObject({
  messaging_product: z.literal('whatsapp'),
  recipient_type: z.literal('individual').optional(),
  to: z.string().regex(/^\+?[\d ()-]{7,}$/),
  type: z.enum(typeNames),
  biz_opaque_callback_data: z.string().max(512).optional(),
  ...Object.fromEntries(typeNames.map((name) => [name, types[name].optional()])),
})

// https://developers.facebook.com/documentation/business-messaging/whatsapp/support/error-codes#other-errors
export function messageIssue(given: unknown, uploads: ReadonlySet<string>): GraphFault | undefined {
  const { success, data, error } = message.safeParse(given)
  if (!success) return faultOf(error.issues[0])
  const content = Object(data)[data.type]
  if (content === undefined) return missing(data.type)
  if (content.id !== undefined && !uploads.has(content.id)) {
    return {
      code: 100,
      title: `Param ${data.type}['id'] is not a valid whatsapp business account media attachment ID`,
    }
  }
  return lengthIssue(content.components ?? []) ?? parameterIssue(content.components ?? [])
}

// https://developers.facebook.com/docs/whatsapp/cloud-api/reference/messages#text-object
function lengthIssue(components: z.output<typeof component>[]): GraphFault | undefined {
  const max = components.length > 1 ? 1024 : 32_768
  const texts = components.flatMap((one) => (one.type === 'body' ? one.parameters : []))
  if (texts.every(({ text }) => [...text].length <= max)) return undefined
  return { code: 131009, title: 'Parameter value is not valid', details: 'Parameter text is too long.' }
}

function parameterIssue(components: z.output<typeof component>[]): GraphFault | undefined {
  const texts = components
    .flatMap(({ parameters }): object[] => parameters)
    .flatMap((parameter) => ('text' in parameter ? [String(parameter.text)] : []))
  if (texts.includes('')) return missing('text')
  if (texts.some((text) => /[\n\r\t]| {5}/.test(text))) {
    // As it answered in https://github.com/schemalabz/opencouncil/pull/780
    const details = 'Param text cannot have new-line/tab characters or more than 4 consecutive spaces'
    return { code: 132018, title: "There's an issue with the parameters in your template", details }
  }
  return undefined
}

const missing = (path: string) => ({
  code: 131008,
  title: 'Required parameter is missing',
  details: `Parameter ${path} is required.`,
})

function faultOf(issue: z.core.$ZodIssue | undefined): GraphFault {
  const path = issue?.path.join('.') ?? ''
  if (issue?.code === 'unrecognized_keys') {
    const details = `Unexpected key "${issue.keys[0]}" on param "${path}".`
    return { code: 100, title: 'Invalid parameter', details }
  }
  if (issue?.code === 'invalid_type' && issue.message.endsWith('received undefined')) return missing(path)
  return { code: 131009, title: 'Parameter value is not valid', details: `Parameter ${path} is not valid.` }
}
