import { z } from 'zod'
import { characters } from './fields.ts'
import type { Message } from './message.ts'
import type { TemplateRules } from './provider.ts'
import { placeholdersOf, renderTemplate } from './template.ts'

const definition = z.strictObject({ text: characters(1, 4096) })

/** Templates of providers that have none of their own: a text with `{{key}}` placeholders. */
export const textTemplate: TemplateRules = {
  definition,
  variablesOf: (given) => placeholdersOf(definition.parse(given).text),
}

/** A registered template with its text, the variables put in, in place of its definition; any other message as it is. */
export function withTemplateText(message: Message) {
  if (message.type !== 'template' || !message.template.definition) return message
  const { name, variables, definition: given } = message.template
  const { text } = definition.parse(given)
  return { type: message.type, template: { name, variables, text: renderTemplate(text, variables) } }
}
