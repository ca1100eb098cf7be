import { z } from 'zod'
import type { TemplateRules } from '../channels/provider.ts'
import { characters } from '../requests/fields.ts'
import type { Message, TemplateVariable } from './message.ts'
import { maxVariables, variableKey } from './message-body.ts'
import { placeholdersOf, renderTemplate } from './template.ts'

const variableKeys = z.array(variableKey).max(maxVariables)

const definition = z.strictObject({
  // A template whose variables no send can give must not be registered.
  text: characters(1, 4096).refine((text) => variableKeys.safeParse(placeholdersOf(text)).success, {
    error: `at most ${maxVariables} placeholders, each of 1 to 64 characters on one line`,
  }),
})

/** Template rules of providers without templates of their own: a text with `{{key}}` placeholders. */
export const textTemplate: TemplateRules = {
  definition,
  variablesOf: (given) => placeholdersOf(definition.parse(given).text),
  textOf: renderText,
}

/** Fills the variables into the text. */
export function renderText(given: object, variables: readonly TemplateVariable[]): string {
  return renderTemplate(definition.parse(given).text, variables)
}

/** Replaces the definition of a registered template by its text, with the variables filled in. Other messages are unchanged. */
export function withTemplateText(message: Message) {
  if (message.type !== 'template' || !message.template.definition) return message
  const { name, variables, definition: given } = message.template
  return { ...message, template: { name, variables, text: renderText(given, variables) } }
}
