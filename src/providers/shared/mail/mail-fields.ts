import { z } from 'zod'
import { parseMailbox } from '../../../core/contacts/mailbox.ts'
import {
  areDistinct,
  headerIssue,
  headerValue,
  maxHeaders,
  oneClick,
} from '../../../core/messages/mail-headers.ts'
import { renderTemplate } from '../../../core/messages/template.ts'
import { optional, singleLine } from '../../../core/requests/fields.ts'

/** The fields that channels of mail have in common, whatever carries the mail. */

export const maxFieldLength = 255

export const mailbox = singleLine(1, 512).refine(
  (value) => parseMailbox(value) !== undefined,
  'has to be an address, or Name <address>',
)

export const defaultSubject = 'Message'

/** For texts and media, and for templates whose subject is empty. Other placeholders than those of `filledSubject` are plain text. */
export const mailSubject = optional(singleLine(1, maxFieldLength))
  .transform((value) => value ?? defaultSubject)
  .describe(
    `of texts and media; {{contact.name}} and {{reference}} in it are replaced; default: ${defaultSubject}`,
  )

/** The subject of one mail. Fields that the send lacks are left out. A word that is too long for a line couldn't be folded. */
export function filledSubject(
  subject: string,
  { contactName, reference }: { contactName: string | undefined; reference: string | null },
): string {
  const filled = renderTemplate(subject, [
    { key: 'contact.name', value: contactName ?? '' },
    { key: 'reference', value: reference ?? '' },
  ])
  const tidied = filled.replace(/\s+/g, ' ').trim()
  return [...tidied].slice(0, maxFieldLength).join('')
}

/** Headers that a mail has anyway, or that would change who gets it. */
const ownHeaders =
  /^(from|to|cc|bcc|sender|reply-to|subject|date|message-id|mime-version|content-.*|return-path|received|resent-.*|dkim-signature)$/i
const headerName = singleLine(1, 64)
  .regex(/^[A-Za-z][A-Za-z0-9-]*$/, 'has to be letters, digits and hyphens')
  .refine(
    (name) => !ownHeaders.test(name),
    'is set by the service; use the field of the config, if there is one',
  )
/** Further headers of each mail. Values may contain `{requestId}`. */
export const mailHeaders = optional(
  z
    .record(headerName, headerValue, {
      error: (issue) => (issue.code === 'invalid_key' ? issue.issues[0]?.message : undefined),
    })
    .refine((headers) => Object.keys(headers).length <= maxHeaders, `at most ${maxHeaders}`)
    .refine((headers) => areDistinct(Object.keys(headers)), 'contains a header twice')
    .superRefine((headers, context) => {
      for (const [name, value] of Object.entries(headers)) {
        const message = headerIssue(name, value)
        if (message) context.addIssue({ code: 'custom', path: [name], message })
      }
    }),
).describe('further headers of each mail, as JSON such as {"Auto-Submitted": "no"}')

/**
 * The further headers of one mail: those of the channel, and of the client, which win. A mail of this service is automatic, unless
 * they say otherwise, so no mailbox answers it with a notice of absence (RFC 3834). A link to unsubscribe works with one click (RFC 8058).
 */
export function headersOfMail(
  ofChannel: Readonly<Record<string, string>> = {},
  requestId: string,
  ofClient: Readonly<Record<string, string>> = {},
): Record<string, string> {
  const filled = Object.entries(ofChannel).map(([name, value]): [string, string] => [
    name,
    value.replaceAll('{requestId}', requestId),
  ])
  const isOfClient = byName(Object.entries(ofClient))
  const given = [
    ...filled.filter(([name]) => !isOfClient.has(name.toLowerCase())),
    ...Object.entries(ofClient),
  ]
  const values = byName(given)
  const hasOneClick =
    /<https:/i.test(values.get('list-unsubscribe') ?? '') && !values.has('list-unsubscribe-post')
  return {
    ...(!values.has('auto-submitted') && { 'Auto-Submitted': 'auto-generated' }),
    ...Object.fromEntries(given),
    ...(hasOneClick && { 'List-Unsubscribe-Post': oneClick }),
  }
}

const byName = (headers: readonly [string, string][]) =>
  new Map(headers.map(([name, value]) => [name.toLowerCase(), value]))
