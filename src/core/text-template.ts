import { z } from 'zod'
import { characters } from './fields.ts'
import type { TemplateRules } from './provider.ts'
import { placeholdersOf } from './template.ts'

const definition = z.strictObject({ text: characters(1, 4096) })

/** Templates of providers that have none of their own: a text with `{{key}}` placeholders. */
export const textTemplate: TemplateRules = {
  definition,
  variablesOf: (given) => placeholdersOf(definition.parse(given).text),
}
