import { z } from 'zod'
import { decodeBase64 } from './base64.ts'
import { isLongerThan, isStorable } from './characters.ts'
import { type Contact, type ContactType, contactTypes, parseContactValue } from './contact.ts'
import { type Message, mediaTypes, messageTypes } from './message.ts'
import { isReachable, literalAddress, type Network } from './public-address.ts'

/** A send as a client asked for it: validated, normalised, media decoded. */
export interface SendRequest {
  /** Only where the channel is named in the body. */
  channelId?: string | undefined
  contact: Contact
  message: Message
  mediaContent: Buffer | undefined
  flowId: string | undefined
  closeConversation: boolean
}

const maxMediaBytes = 16 * 1024 * 1024
const maxUrlLength = 2048

/** Types a client may name: `type/subtype` and parameters, nothing that could end a header line. */
const mimetypePattern =
  /^[\w!#$&^.+-]{1,127}\/[\w!#$&^.+-]{1,127}( *; *[\w!#$&^.+-]+=("[^"\p{Cc}\\]*"|[\w!#$&^.+-]+))*$/u

const string = z.string().refine(isStorable, 'holds NUL or half a surrogate pair')
const characters = (min: number, max: number) =>
  string
    .refine((text) => text.length >= min, { error: min === 1 ? 'is empty' : `at least ${min} characters` })
    .refine((text) => !isLongerThan(text, max), { error: `at most ${max} characters` })
const singleLine = (min: number, max: number) =>
  characters(min, max).refine((text) => !/\p{Cc}/u.test(text), 'holds a control character')
const filename = singleLine(1, 255).refine(
  (name) => !/[/\\]/.test(name) && name !== '.' && name !== '..',
  'has to be a name without a path',
)

/** `null` counts as absent. */
const optional = <T extends z.ZodType>(schema: T) => schema.nullish().transform((value) => value ?? undefined)

/** Fields that are accepted beside the message and inside it (docs/api.md#flow-and-conversation). */
const association = { flowId: optional(string), closeConversation: optional(z.boolean()) }

const contactWanted = {
  phone: 'has to be a phone number (7 to 15 digits, with the country code)',
  email: 'has to be an e-mail address',
}
const typeOf = (fields: { type?: ContactType | null | undefined }): ContactType => fields.type ?? 'phone'

const contact = z
  .strictObject({ value: string, type: optional(z.enum(contactTypes)), name: optional(singleLine(0, 256)) })
  .refine((fields) => parseContactValue(typeOf(fields), fields.value) !== undefined, {
    path: ['value'],
    error: ({ input }) => contactWanted[typeOf(input as { type?: ContactType })],
    // Beside other faults of the contact too, as long as there is a value and a type to hold it against.
    when: ({ value, issues }) =>
      typeof (value as { value?: unknown } | null)?.value === 'string' &&
      !issues.some(({ path }) => path?.[0] === 'value' || path?.[0] === 'type'),
  })
  .transform((fields): Contact => {
    const type = typeOf(fields)
    return { type, value: parseContactValue(type, fields.value) ?? '', name: fields.name }
  })

const template = z.strictObject({
  name: singleLine(1, 512),
  variables: optional(
    z
      .array(z.strictObject({ key: characters(1, 64), value: characters(0, 4096) }))
      .max(100)
      .superRefine((variables, context) => {
        const seen = new Set<string>()
        for (const [index, { key }] of variables.entries()) {
          if (seen.has(key))
            context.addIssue({ code: 'custom', path: [index, 'key'], message: 'given twice' })
          seen.add(key)
        }
      }),
  ).transform((variables) => variables ?? []),
})

const base64 = z.string().transform((value, context) => {
  const decoded = decodeBase64(value, maxMediaBytes)
  if ('content' in decoded) return decoded
  context.addIssue({ code: 'custom', message: decoded.fault })
  return z.NEVER
})

const media = (allowedPrivateNetworks: readonly Network[]) =>
  z
    .strictObject({
      mediaType: z.enum(mediaTypes),
      mimetype: optional(string.regex(mimetypePattern, 'has to be of the form type/subtype')),
      filename: optional(filename),
      caption: optional(characters(0, 1024)),
      base64: optional(base64),
      mediaUrl: optional(
        string.superRefine((url, context) => {
          const message = urlFault(url, allowedPrivateNetworks)
          if (message) context.addIssue({ code: 'custom', message })
        }),
      ),
    })
    .refine((fields) => fields.base64 || fields.mediaUrl, { error: 'send base64 or mediaUrl' })
    .transform(({ base64: decoded, ...fields }) => ({
      description: {
        ...fields,
        mimetype: fields.mimetype ?? decoded?.mimetype,
        sizeBytes: decoded?.content.length,
      },
      content: decoded?.content,
    }))

const message = (allowedPrivateNetworks: readonly Network[]) =>
  z
    .strictObject({
      type: z.enum(messageTypes),
      text: optional(z.strictObject({ value: characters(1, 4096) })),
      template: optional(template),
      media: optional(media(allowedPrivateNetworks)),
      ...association,
    })
    .transform((fields, context) => {
      for (const type of messageTypes) {
        if (type === fields.type && !fields[type]) {
          context.addIssue({ code: 'custom', path: [type], message: 'required' })
        } else if (type !== fields.type && fields[type]) {
          const fault = `incompatible with message.type ${fields.type}`
          context.addIssue({ code: 'custom', path: [type], message: fault })
        }
      }
      return { ...fields, ...contentOf(fields) }
    })

/**
 * The two bodies of a send (docs/api.md#send): with the channel in the body, and with the channel in the path. They
 * differ in nothing else.
 *
 * @param allowedPrivateNetworks what a `mediaUrl` written as an address may name although it isn't public.
 */
export function sendRequestSchemas(allowedPrivateNetworks: readonly Network[]) {
  const fields = { contact, message: message(allowedPrivateNetworks), ...association }
  return {
    channelInBody: z.strictObject({ channelId: string, ...fields }).transform(toSendRequest),
    channelInPath: z.strictObject(fields).transform(toSendRequest),
  }
}

type Association = { flowId?: string | undefined; closeConversation?: boolean | undefined }
type Content = { message: Message; mediaContent: Buffer | undefined }

function toSendRequest(
  body: Association & { channelId?: string; contact: Contact; message: Content & Association },
  context: z.RefinementCtx,
): SendRequest {
  return {
    channelId: body.channelId,
    contact: body.contact,
    message: body.message.message,
    mediaContent: body.message.mediaContent,
    flowId: sameInBothPlaces(body.flowId, body.message.flowId, 'flowId', context),
    closeConversation:
      sameInBothPlaces(
        body.closeConversation,
        body.message.closeConversation,
        'closeConversation',
        context,
      ) ?? false,
  }
}

function sameInBothPlaces<T>(
  outer: T | undefined,
  inner: T | undefined,
  field: string,
  context: z.RefinementCtx,
): T | undefined {
  if (outer !== undefined && inner !== undefined && outer !== inner) {
    context.addIssue({ code: 'custom', path: [field], message: `differs from message.${field}` })
  }
  return outer ?? inner
}

function contentOf(fields: {
  type: Message['type']
  text?: { value: string } | undefined
  template?: z.output<typeof template> | undefined
  media?: z.output<ReturnType<typeof media>> | undefined
}): Content {
  if (fields.type === 'text' && fields.text) {
    return { message: { type: 'text', text: fields.text }, mediaContent: undefined }
  }
  if (fields.type === 'template' && fields.template) {
    return { message: { type: 'template', template: fields.template }, mediaContent: undefined }
  }
  if (fields.type === 'media' && fields.media) {
    return { message: { type: 'media', media: fields.media.description }, mediaContent: fields.media.content }
  }
  return z.NEVER
}

function urlFault(value: string, allowedPrivateNetworks: readonly Network[]): string | undefined {
  if (value.length > maxUrlLength) return `at most ${maxUrlLength} characters`
  if (!URL.canParse(value)) return 'has to be a URL'
  const url = new URL(value)
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return 'has to start with http:// or https://'
  if (url.username || url.password) return 'must not hold a user name or password'
  const address = literalAddress(url.hostname)
  if (address && !isReachable(address, allowedPrivateNetworks)) return 'names an address that is not public'
  return undefined
}
