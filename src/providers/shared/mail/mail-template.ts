import { z } from 'zod'
import type { TemplateRules } from '../../../core/channels/provider.ts'
import type { TemplateVariable } from '../../../core/messages/message.ts'
import { maxVariables, variableKey } from '../../../core/messages/message-body.ts'
import { placeholdersOf, renderTemplate } from '../../../core/messages/template.ts'
import { characters, singleLine } from '../../../core/requests/fields.ts'

const maxSubjectLength = 255
const maxBodyLength = 65_536
const variableKeys = z.array(variableKey).max(maxVariables)
const inSubject = singleLine(0, maxSubjectLength)

const texts = z.strictObject({
  subject: singleLine(1, maxSubjectLength),
  text: characters(1, maxBodyLength).optional(),
  html: characters(1, maxBodyLength).optional(),
})
type Texts = z.output<typeof texts>

const definition = texts
  .refine(({ text, html }) => text !== undefined || html !== undefined, {
    path: ['text'],
    error: 'give text, html or both',
  })
  // A template whose variables no send can give must not be registered.
  .refine((given) => variableKeys.safeParse(keysOf(given)).success, {
    error: `at most ${maxVariables} placeholders, each of 1 to 64 characters on one line`,
  })

function keysOf({ subject, text = '', html = '' }: Texts): string[] {
  return [...new Set([subject, text, html].flatMap(placeholdersOf))]
}

/** Templates of mails: `{{key}}` placeholders in the subject, in the text and in the HTML. */
export const mailTemplate: TemplateRules = {
  definition,
  variablesOf: (given) => keysOf(definition.parse(given)),
  unregisteredIssue: () => 'is not registered with this channel; use the name of a registered template',
  valueIssue({ key, value }, given) {
    if (!given || !placeholdersOf(definition.parse(given).subject).includes(key)) return undefined
    // The subject is a header. A line break would begin another header, and a long word can't be folded.
    const { error } = inSubject.safeParse(value)
    return error && `${error.issues[0]?.message}, as part of the subject`
  },
}

/** Fills the variables into the template. In the HTML they are escaped. */
export function renderMail(given: object, variables: readonly TemplateVariable[]): Texts {
  const { subject, text, html } = definition.parse(given)
  const escaped = variables.map(({ key, value }) => ({ key, value: escapeHtml(value) }))
  return {
    subject: renderTemplate(subject, variables),
    text: text && renderTemplate(text, variables),
    html: html && renderTemplate(html, escaped),
  }
}

const entities: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => entities[character] ?? character)
}
