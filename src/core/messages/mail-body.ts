import { z } from 'zod'
import { emailPattern, maxEmailLength, parseEmail } from '../contacts/email.ts'
import { entries } from '../requests/entries.ts'
import { besideOtherIssues, characters, optional, singleLine } from '../requests/fields.ts'
import type { Network } from '../requests/public-address.ts'
import type { Attachment, MailFields } from './mail.ts'
import { clientHeaders } from './mail-headers.ts'
import { base64, filename, mediaUrl, mimetype, typeOfDataUrl } from './message-body.ts'

const maxHtmlCharacters = 262_144

/** Names and values of tags: the form that each vendor with tags takes. */
const tagText = /^(?!__proto__$)[A-Za-z0-9_-]{1,256}$/
const tagTextIs = '1 to 256 of letters, digits, _ and -'

const replyTo = characters(1, maxEmailLength)
  .refine((value) => parseEmail(value) !== undefined, 'has to be an e-mail address')
  .meta({ pattern: emailPattern, description: 'The address that answers go to.' })

const maxAttachments = 10

const contentIdForm = /^[A-Za-z0-9][A-Za-z0-9._@+-]*$/
const contentId = characters(1, 255)
  .regex(contentIdForm, 'has to be letters, digits, ., _, @, + and -')
  .meta({
    pattern: contentIdForm.source,
    description:
      'By which the HTML shows it in its place: `<img src="cid:logo">` shows the attachment `logo`.',
  })

const attachment = (allowedPrivateNetworks: readonly Network[]) =>
  z
    .strictObject({
      filename: filename.describe('The name of the file, without a path.'),
      mimetype: optional(mimetype),
      base64: optional(base64),
      url: optional(mediaUrl(allowedPrivateNetworks)),
      contentId: optional(contentId),
    })
    .superRefine(({ base64, url }: { base64?: unknown; url?: unknown }, context) => {
      const given = (name: string) => context.issues.some(({ path }) => path?.[0] === name)
      if (base64 || url || given('base64') || given('url')) return
      context.addIssue({ code: 'custom', message: 'send base64 or url' })
    }, besideOtherIssues)

const attachments = (allowedPrivateNetworks: readonly Network[]) =>
  z
    .array(attachment(allowedPrivateNetworks))
    .max(maxAttachments)
    .superRefine((list, context) => {
      const ids = list.flatMap(({ contentId: id }) => id ?? [])
      if (new Set(ids).size < ids.length)
        context.addIssue({ code: 'custom', message: 'contains a contentId twice' })
    })
    .describe('Files of the mail, together at most 16 MiB.')

/** The `email` of a body (docs/reference/api.md#mail). */
export const mailFields = (allowedPrivateNetworks: readonly Network[]) =>
  z
    .strictObject({
      attachments: optional(attachments(allowedPrivateNetworks)),
      subject: optional(
        singleLine(1, 998).describe('The subject, in place of that of the channel or of the template.'),
      ),
      html: optional(
        characters(1, maxHtmlCharacters).describe(
          'The message as HTML, beside `message.text`, which mail programs without HTML show. It is sent as it is.',
        ),
      ),
      fromName: optional(
        singleLine(1, 256).describe("The name of the sender. The address stays the channel's."),
      ),
      replyTo: optional(replyTo),
      headers: optional(clientHeaders),
      tags: optional(
        entries({
          most: 10,
          names: tagText,
          namesAre: tagTextIs,
          values: z.string().regex(tagText, `has to be ${tagTextIs}`),
          description: 'Names and values for the statistics of mail vendors that have tags.',
        }),
      ),
    })
    .describe(
      'What a mail has besides its message. Only to a contact of the type `email`, by a channel that sends mail.',
    )

type GivenMail = z.output<ReturnType<typeof mailFields>>

/** The fields of a mail, and separately the bytes of its attachments. */
export function mailOf({ attachments: given, ...fields }: GivenMail): {
  email: MailFields
  contents: Buffer[]
} {
  if (!given) return { email: fields, contents: [] }
  const described = given.map(
    ({ base64: decoded, ...attachment }): Attachment => ({
      ...attachment,
      mimetype: attachment.mimetype ?? typeOfDataUrl(decoded?.mimetype),
      sizeBytes: decoded?.content.length,
    }),
  )
  const contents = given.flatMap(({ base64: decoded }) => decoded?.content ?? [])
  return { email: { ...fields, attachments: described }, contents }
}

/** The number of bytes that came as base64. */
export const attachedBytes = ({ attachments: given }: Pick<GivenMail, 'attachments'>): number =>
  given?.reduce((sum, { base64: decoded }) => sum + (decoded?.content.length ?? 0), 0) ?? 0
