import { z } from 'zod'
import type { TemplateRules } from '../../core/channels/provider.ts'
import type { TemplateMessage } from '../../core/messages/message.ts'
import { maxVariables, variableKey } from '../../core/messages/message-body.ts'
import { whatsAppValueIssue } from '../../core/messages/template.ts'
import { string } from '../../core/requests/fields.ts'

const language = string.regex(/^[a-z]{2,3}(_[A-Z]{2,3})?$/, 'has to be a language code such as en or en_US')

const definition = z.strictObject({ language, parameters: z.array(variableKey).max(maxVariables) })

export const template = {
  definition,
  variablesOf: (given) => [...new Set(definition.parse(given).parameters)],
  valueIssue: ({ value }) => whatsAppValueIssue(value),
  unregisteredIssue: () => 'is not registered with this channel; ask the operator to register it',
} satisfies TemplateRules

/** Language and parameters of a template message. */
export function parametersOf({ definition: given, variables }: TemplateMessage) {
  const { language: locale, parameters } = definition.parse(given)
  const values = new Map(variables.map(({ key, value }) => [key, value]))
  return { locale, parameters: parameters.map((key) => values.get(key) ?? '') }
}
