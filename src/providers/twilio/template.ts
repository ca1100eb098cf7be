import { z } from 'zod'
import type { TemplateRules } from '../../core/channels/provider.ts'
import { maxVariables, variableKey } from '../../core/messages/message-body.ts'
import { whatsAppValueIssue } from '../../core/messages/template.ts'
import { isLongerThan } from '../../core/requests/characters.ts'
import { string } from '../../core/requests/fields.ts'
import { sid } from './config.ts'

const contentSid = sid('HX')

// https://www.twilio.com/docs/content/using-variables-with-content-api
const placeholder = string.regex(/^[A-Za-z0-9]\w{0,15}$/)
const placeholderIssue =
  'has to be the name of a variable of the content template: 1 to 16 letters, digits or underscores'
const recordIssues: Record<string, string> = {
  invalid_type: 'has to be an object such as {"1":"name"}',
  invalid_key: placeholderIssue,
}

const definition = z.strictObject({
  contentSid,
  variables: z
    .record(placeholder, variableKey, { error: ({ code = '' }) => recordIssues[code] })
    .refine((variables) => Object.keys(variables).length <= maxVariables, `at most ${maxVariables}`)
    .default({}),
})

// https://www.twilio.com/docs/api/errors/21658
const maxValueCharacters = 1600

/** Twilio's content templates. `variables` maps each of their variables to the key of a send's variable. */
export const template = {
  definition,
  variablesOf: (given) => [...new Set(Object.values(definition.parse(given).variables))],
  unregisteredKeyIssue: (key) => (placeholder.safeParse(key).success ? undefined : placeholderIssue),
  valueIssue: ({ value }) =>
    isLongerThan(value, maxValueCharacters)
      ? `at most ${maxValueCharacters} characters on this channel`
      : whatsAppValueIssue(value),
  unregisteredIssue: (name) =>
    contentSid.safeParse(name).success
      ? undefined
      : 'is not registered with this channel; ask the operator to register it, or send the content SID (HX…) of a Twilio content template',
} satisfies TemplateRules

/** A template message in Twilio's terms. The name of an unregistered template is its content SID. */
export function contentOf(message: {
  name: string
  variables: { key: string; value: string }[]
  definition?: object | undefined
}): { contentSid: string; variables: Record<string, string> } {
  const values = new Map(message.variables.map(({ key, value }) => [key, value]))
  if (!message.definition) return { contentSid: message.name, variables: Object.fromEntries(values) }
  const { contentSid, variables } = definition.parse(message.definition)
  const filled = Object.entries(variables).map(([name, key]) => [name, values.get(key) ?? ''])
  return { contentSid, variables: Object.fromEntries(filled) }
}
