import type { TemplateRules } from '../channels/provider.ts'
import { joinIssues } from '../requests/issues.ts'
import type { Message, TemplateMessage, TemplateVariable } from './message.ts'

const placeholder = /\{\{([^{}]+)\}\}/g

/** The keys of the `{{key}}` placeholders of a text, each once. */
export function placeholdersOf(text: string): string[] {
  return [...new Set([...text.matchAll(placeholder)].map(([, key = '']) => key.trim()))]
}

/** Replaces the placeholders of a text. Placeholders within a variable's value are not replaced. */
export function renderTemplate(text: string, variables: readonly TemplateVariable[]): string {
  const values = new Map(variables.map(({ key, value }) => [key, value]))
  return text.replace(placeholder, (whole, key: string) => values.get(key.trim()) ?? whole)
}

/**
 * The issues of a send's variables, with their paths: missing ones, unknown ones, and values that the template can't take.
 *
 * @param needed the template's keys; undefined if only the provider knows them.
 */
export function variableIssues(
  needed: readonly string[] | undefined,
  given: readonly TemplateVariable[],
  valueIssue: (variable: TemplateVariable) => string | undefined = () => undefined,
  unregisteredKeyIssue: (key: string) => string | undefined = () => undefined,
): string[] {
  const keys = given.map(({ key }) => key)
  const missing = needed?.filter((key) => !keys.includes(key)) ?? []
  return [
    ...missing.map((key) => `message.template.variables: ${key} is missing`),
    ...given.flatMap((variable, index) => {
      const path = `message.template.variables[${index}]`
      if (needed?.includes(variable.key) === false) {
        return [`${path}.key: the template has no variable ${variable.key}`]
      }
      const keyIssue = needed ? undefined : unregisteredKeyIssue(variable.key)
      if (keyIssue) return [`${path}.key: ${keyIssue}`]
      const issue = valueIssue(variable)
      return issue ? [`${path}.value: ${issue}`] : []
    }),
  ]
}

/** The issues of a send's variables with a channel's template; without a definition, it isn't registered there. */
export function templateIssues(
  rules: TemplateRules,
  { variables }: Pick<TemplateMessage, 'variables'>,
  definition: object | undefined,
): string[] {
  const issues = variableIssues(
    definition && rules.variablesOf(definition),
    variables,
    (variable) => rules.valueIssue?.(variable, definition),
    (key) => rules.unregisteredKeyIssue?.(key),
  )
  const filledIssue =
    issues.length === 0 && definition ? rules.filledIssue?.(definition, variables) : undefined
  return filledIssue === undefined ? issues : [`message.template.variables: ${filledIssue}`]
}

type MessageOfTemplate = Extract<Message, { type: 'template' }>

/**
 * The message with the definition that its channel has now, which it keeps; without one, the provider may know the template.
 *
 * @returns an issue if the channel can't send it. Its `reason` is for the log: with the template's own keys, others are text of the client.
 */
export function withDefinition(
  rules: TemplateRules,
  message: MessageOfTemplate,
  definition: object | undefined,
): MessageOfTemplate | { issue: string; reason: string } {
  const { name, variables } = message.template
  const nameIssue = definition ? undefined : rules.unregisteredIssue?.(name)
  if (nameIssue !== undefined) {
    const issue = `message.template.name: ${nameIssue}`
    return { issue, reason: issue }
  }
  const issues = templateIssues(rules, { variables }, definition)
  if (issues.length > 0) {
    const issue = joinIssues(issues)
    const needed = definition && rules.variablesOf(definition)
    const areKnown = needed && variables.every(({ key }) => needed.includes(key))
    return { issue, reason: areKnown ? issue : 'message.template.variables: not those of the template' }
  }
  return definition ? { ...message, template: { name, variables, definition } } : message
}

/** Why WhatsApp, by whatever provider, can't take a variable's value; undefined if it can. */
export function whatsAppValueIssue(value: string): string | undefined {
  if (value === '') return 'is empty, which this channel does not accept in a template'
  if (!/[\n\r\t]| {5}/.test(value)) return undefined
  return 'contains a line break, a tab or more than four spaces in a row, which this channel does not accept in a template'
}
