import { z } from 'zod'
import { base64Pattern, decodeBase64 } from '../requests/base64.ts'
import { blanks } from '../requests/characters.ts'
import { clientPortIssue, isClientPort } from '../requests/client-port.ts'
import { besideOtherIssues, characters, optional, singleLine, string } from '../requests/fields.ts'
import { parseUrl } from '../requests/parse-url.ts'
import { type Network, unreachableAddress } from '../requests/public-address.ts'
import { type Message, mediaTypes, messageTypes } from './message.ts'
import { maxMimetypeLength, mimetypePattern, saysWhatItIs } from './mimetype.ts'

/** A message, and separately the bytes of its media, which are stored in another table. */
export interface MessageContent {
  message: Message
  mediaContent: Buffer | undefined
}

/** Limit of media sent as base64, or fetched to be sent as an attachment (docs/reference/api.md#media). */
export const maxMediaBytes = 16 * 1024 * 1024
export const maxUrlLength = 2048
/** `urlIssue`, as far as a pattern can express it. */
const urlPattern = String.raw`^[Hh][Tt][Tt][Pp][Ss]?://(?![^/?#]*@)[^\s\u0000-\u001f\u007f-\u009f\ud800-\udfff]+$`
export const mimetype = string
  .max(maxMimetypeLength)
  .refine(
    (type) => type.length > maxMimetypeLength || mimetypePattern.test(type),
    'has to be of the form type/subtype',
  )
  .meta({
    pattern: mimetypePattern.source,
    description:
      'The media type of the content. Default: the recognised type of `base64`. A type that contradicts the content is refused.',
  })

/** A direction mark shows `annexe\u202egpj.exe` as `annexeexe.jpg`. */
const directionMark = /\p{Bidi_Control}/u

export const filename = singleLine(1, 255)
  .refine((name) => !/[/\\]/.test(name) && name !== '.' && name !== '..', 'has to be a name without a path')
  .superRefine((name, context) => {
    const mark = directionMark.exec(name)?.[0].codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0')
    if (mark !== undefined)
      context.addIssue({ code: 'custom', message: `contains a direction mark (U+${mark}): leave it out` })
  })
  .meta({
    pattern: String.raw`^(?!\.{1,2}$)[^/\\\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]*$`,
    description: 'A name without a path and without direction marks.',
  })

const notBlank = new RegExp(`[^${blanks}]`)

const text = z
  .strictObject({
    value: characters(1, 4096)
      .refine((value) => value === '' || notBlank.test(value), 'contains only white space')
      .meta({
        pattern: `^(?=[${blanks}]*[^${blanks}])[^\\u0000\\ud800-\\udfff]*$`,
        description:
          'The text, not only of white space. Channels of some providers accept only shorter ones.',
      }),
  })
  .describe('The content of a `text`.')

export const maxVariables = 100
export const variableKey = singleLine(1, 64)

const variable = z
  .strictObject({
    key: variableKey.describe('The name of the variable.'),
    value: characters(0, 4096).describe('The value of the variable.'),
  })
  .describe('A variable and its value.')

const variables = z
  .array(variable)
  .max(maxVariables)
  .superRefine((list, context) => {
    const seen = new Set<string>()
    for (const [index, { key }] of list.entries()) {
      if (seen.has(key)) context.addIssue({ code: 'custom', path: [index, 'key'], message: 'given twice' })
      seen.add(key)
    }
  })
  .describe(
    'The variables of the template, each `key` once. A registered template needs all of its variables and no others. Default: none.',
  )

const template = z
  .strictObject({
    name: singleLine(1, 512).describe('The name under which the template is registered with the channel.'),
    variables: optional(variables).transform((list) => list ?? []),
  })
  .describe('The content of a `template`.')

export const base64 = z
  .string()
  .meta({
    pattern: base64Pattern,
    description:
      'The content in base64, at most 16 MiB when decoded: the standard alphabet, line breaks ignored, padding optional. Or a URL of the form `data:<type>;base64,<content>`.',
  })
  .transform((value, context) => {
    const decoded = decodeBase64(value, maxMediaBytes)
    if ('content' in decoded) return decoded
    context.addIssue({ code: 'custom', message: decoded.issue })
    return z.NEVER
  })

/** A type that says nothing counts as undeclared: for these, a client often lets a library write the URL. */
export const typeOfDataUrl = (type: string | undefined) =>
  type !== undefined && saysWhatItIs(type) ? type : undefined

export const mediaUrl = (allowedPrivateNetworks: readonly Network[]) =>
  string
    .superRefine((url, context) => {
      const message = urlIssue(url, allowedPrivateNetworks)
      if (message) context.addIssue({ code: 'custom', message })
    })
    .meta({
      pattern: urlPattern,
      maxLength: maxUrlLength,
      description:
        'The URL of the content, without user name and password. A host given as an IP address has to be a public one, and a port 80, 443 or one from 1024 on.',
    })

const media = (allowedPrivateNetworks: readonly Network[]) =>
  z
    .strictObject({
      mediaType: z
        .enum(mediaTypes)
        .describe(
          'The kind of media. The content of an `image` has to be recognised as one; a `document` may be anything. A channel may accept fewer kinds.',
        ),
      mimetype: optional(mimetype),
      filename: optional(filename),
      caption: optional(characters(0, 1024).describe('A text shown with the media.')),
      base64: optional(base64),
      mediaUrl: optional(mediaUrl(allowedPrivateNetworks)),
    })
    .superRefine((fields, context) => {
      const given = (name: string) => context.issues.some(({ path }) => path?.[0] === name)
      if (fields.base64 || fields.mediaUrl || given('base64') || given('mediaUrl')) return
      context.addIssue({ code: 'custom', message: 'send base64 or mediaUrl' })
    }, besideOtherIssues)
    .transform(({ base64: decoded, ...description }) => ({
      description: {
        ...description,
        mimetype: description.mimetype ?? typeOfDataUrl(decoded?.mimetype),
        sizeBytes: decoded?.content.length,
      },
      content: decoded?.content,
    }))
    .describe('The content of a `media`: `base64` or `mediaUrl`. If both are given, `base64` is sent.')

/**
 * The `message` of a body: the sub-object that `type` selects, and no other (docs/reference/api.md#body).
 *
 * @param fields further fields of the message.
 */
export function messageSchema<Fields extends z.ZodRawShape>(
  allowedPrivateNetworks: readonly Network[],
  fields: Fields,
) {
  const contents = {
    text: optional(text),
    template: optional(template),
    media: optional(media(allowedPrivateNetworks)),
  }
  return z
    .strictObject({
      type: z.enum(messageTypes).describe('The name of the object with the content.'),
      ...contents,
      ...fields,
    })
    .describe('The message to send.')
    .superRefine(
      (given: { type?: unknown; text?: unknown; template?: unknown; media?: unknown }, context) => {
        const selected = messageTypes.find((type) => type === given.type)
        if (!selected) return
        const hasIssue = (type: string) => context.issues.some(({ path }) => path?.[0] === type)
        for (const type of messageTypes) {
          if (type === selected && !given[type] && !hasIssue(type)) {
            context.addIssue({ code: 'custom', path: [type], message: 'required' })
          } else if (type !== selected && given[type]) {
            context.addIssue({
              code: 'custom',
              path: [type],
              message: `incompatible with message.type ${selected}`,
            })
          }
        }
      },
      besideOtherIssues,
    )
}

/** @throws if the fields haven't passed the schema. */
export function contentOf(fields: {
  text?: z.output<typeof text> | undefined
  template?: z.output<typeof template> | undefined
  media?: z.output<ReturnType<typeof media>> | undefined
}): MessageContent {
  const { text, template, media } = fields
  if (text) return { message: { type: 'text', text }, mediaContent: undefined }
  if (template) return { message: { type: 'template', template }, mediaContent: undefined }
  if (media) return { message: { type: 'media', media: media.description }, mediaContent: media.content }
  throw new Error('A message without content passed its schema')
}

/** Why it isn't an address that media can be fetched from; undefined if it is. */
export function urlIssue(value: string, allowedPrivateNetworks: readonly Network[]): string | undefined {
  if (value.length > maxUrlLength) return `at most ${maxUrlLength} characters`
  // Checked here because the URL parser would drop white space and add a missing slash, but the given text is stored.
  if (!/^https?:\/\/[^\s\p{Cc}]+$/iu.test(value))
    return 'has to be a URL that starts with http:// or https://'
  const url = parseUrl(value)
  if (!url) return 'has to be a URL'
  const [authority = ''] = value.replace(/^https?:\/\//i, '').split(/[/?#]/)
  if (authority.includes('@')) return 'must not contain a user name or password'
  if (!isClientPort(url.port)) return clientPortIssue
  if (unreachableAddress(url, allowedPrivateNetworks)) return 'contains an address that is not public'
  return undefined
}
