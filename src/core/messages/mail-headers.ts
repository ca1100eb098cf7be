import { entries } from '../requests/entries.ts'
import { singleLine } from '../requests/fields.ts'

/** RFC 5322, 2.1.1. */
const maxLineLength = 998
export const maxHeaders = 20

/** The value of a header that isn't one of the mail's own. */
export const headerValue = singleLine(1, maxLineLength)
  .regex(/^[ -~]*$/, 'has to be ASCII')
  .refine((value) => value.trim() !== '', 'is empty')
  .meta({ pattern: '^ *[!-~][ -~]*$' })

/** A longer word doesn't fit on a line of its own, after a space. */
const longestWord = maxLineLength - 1
const messageIds = /^<[^<>\s]+>( <[^<>\s]+>)*$/
/** RFC 8058, 3.1. */
export const oneClick = 'List-Unsubscribe=One-Click'

const unsubscribeForm = /^<(https:\/\/|mailto:)[^<>\s]+>(\s*,\s*<(https:\/\/|mailto:)[^<>\s]+>)*$/i
const autoSubmittedForm = /^(no|auto-generated|auto-replied)$/

/** Why a header can't have this value; undefined if it can. */
export function headerIssue(name: string, value: string): string | undefined {
  const lower = name.toLowerCase()
  if (lower === 'list-unsubscribe' && !unsubscribeForm.test(value))
    return 'has to be <https://…> or <mailto:…>, or several of them with commas between'
  if (lower === 'auto-submitted' && !autoSubmittedForm.test(value))
    return 'has to be no, auto-generated or auto-replied'
  return undefined
}

/** Whether no two are one header: its case says nothing. */
export const areDistinct = (names: readonly string[]): boolean =>
  new Set(names.map((name) => name.toLowerCase())).size === names.length

const namesForClients = [
  'References',
  'In-Reply-To',
  'List-Unsubscribe',
  'List-Unsubscribe-Post',
  'Auto-Submitted',
  'Precedence',
]
const anyCase = (text: string) =>
  text.replace(/[a-z]/gi, (letter) => `[${letter.toUpperCase()}${letter.toLowerCase()}]`)
const clientName = new RegExp(`^(?:[Xx]-[A-Za-z0-9-]{1,62}|${namesForClients.map(anyCase).join('|')})$`)

function clientIssue(name: string, value: string): string | undefined {
  const lower = name.toLowerCase()
  if ((lower === 'references' || lower === 'in-reply-to') && !messageIds.test(value))
    return 'has to be <id@host>, or several of them with spaces between'
  if (lower === 'list-unsubscribe-post' && value !== oneClick) return `has to be ${oneClick}`
  return value.split(' ').some((word) => word.length > longestWord)
    ? 'contains a word too long for a line'
    : undefined
}

/** The headers that a client may give a mail. Others would change who gets it, or what it says of its sender. */
export const clientHeaders = entries({
  most: maxHeaders,
  names: clientName,
  namesAre: `X-… (at most 64 characters) or one of ${namesForClients.join(', ')}`,
  values: headerValue,
  description: `Further headers: \`X-…\`, ${namesForClients.map((name) => `\`${name}\``).join(', ')}. Values are ASCII on one line.`,
}).superRefine((headers: Record<string, string>, context) => {
  if (!areDistinct(Object.keys(headers)))
    context.addIssue({ code: 'custom', message: 'contains a header twice' })
  for (const [name, value] of Object.entries(headers)) {
    const message = headerIssue(name, value) ?? clientIssue(name, value)
    if (message)
      context.addIssue({ code: 'custom', path: [name], message, params: { isNamedByClient: true } })
  }
})
