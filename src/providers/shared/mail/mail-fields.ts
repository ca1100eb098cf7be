import { z } from 'zod'
import { parseMailbox } from '../../../core/contacts/mailbox.ts'
import { renderTemplate } from '../../../core/messages/template.ts'
import { optional, singleLine } from '../../../core/requests/fields.ts'

/** The fields that channels of mail have in common, whatever carries the mail. */

export const maxFieldLength = 255
const maxHeaders = 20
/** RFC 5322, 2.1.1. */
const maxLineLength = 998

export const mailbox = singleLine(1, 512).refine(
  (value) => parseMailbox(value) !== undefined,
  'has to be an address, or Name <address>',
)

export const defaultSubject = 'Message'

/** For texts and media, and for templates whose subject is empty. Other placeholders than those of `filledSubject` are plain text. */
export const mailSubject = optional(singleLine(1, maxFieldLength)).transform(
  (value) => value ?? defaultSubject,
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
const headerValue = singleLine(1, maxLineLength)
  .regex(/^[ -~]*$/, 'has to be ASCII')
  .refine((value) => value.trim() !== '', 'is empty')

const unsubscribe = 'list-unsubscribe'
const unsubscribeForm = /^<(https:\/\/|mailto:)[^<>\s]+>(\s*,\s*<(https:\/\/|mailto:)[^<>\s]+>)*$/i
const autoSubmittedForm = /^(no|auto-generated|auto-replied)$/

/** Further headers of each mail. Values may contain `{requestId}`. */
export const mailHeaders = optional(
  z
    .record(headerName, headerValue, {
      error: (issue) => (issue.code === 'invalid_key' ? issue.issues[0]?.message : undefined),
    })
    .refine((headers) => Object.keys(headers).length <= maxHeaders, `at most ${maxHeaders}`)
    .refine(
      (headers) =>
        new Set(Object.keys(headers).map((name) => name.toLowerCase())).size === Object.keys(headers).length,
      'contains a header twice',
    )
    .superRefine((headers, context) => {
      for (const [name, value] of Object.entries(headers)) {
        const message = formIssue(name.toLowerCase(), value)
        if (message) context.addIssue({ code: 'custom', path: [name], message })
      }
    }),
)

function formIssue(name: string, value: string): string | undefined {
  if (name === unsubscribe && !unsubscribeForm.test(value))
    return 'has to be <https://…> or <mailto:…>, or several of them with commas between'
  if (name === 'auto-submitted' && !autoSubmittedForm.test(value))
    return 'has to be no, auto-generated or auto-replied'
  return undefined
}

/**
 * The further headers of one mail. A mail of this service is automatic, unless the channel says otherwise, so no mailbox answers
 * it with a notice of absence (RFC 3834). A link to unsubscribe works with one click (RFC 8058).
 */
export function headersOfMail(
  headers: Readonly<Record<string, string>> = {},
  requestId: string,
): Record<string, string> {
  const given = Object.entries(headers).map(([name, value]) => [
    name,
    value.replaceAll('{requestId}', requestId),
  ])
  const names = Object.keys(headers).map((name) => name.toLowerCase())
  const unsubscribeBy = given.find(([name]) => name?.toLowerCase() === unsubscribe)?.[1] ?? ''
  const hasOneClick = /<https:/i.test(unsubscribeBy) && !names.includes('list-unsubscribe-post')
  return {
    ...(!names.includes('auto-submitted') && { 'Auto-Submitted': 'auto-generated' }),
    ...Object.fromEntries(given),
    ...(hasOneClick && { 'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click' }),
  }
}
