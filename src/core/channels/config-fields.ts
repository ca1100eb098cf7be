import { z } from 'zod'
import type { ProviderRules } from './provider.ts'
import { isShownField } from './shown-config.ts'

/** A field of a provider's config, as a form asks for it. */
export interface ConfigField {
  name: string
  /** What it is, and where the vendor shows it. */
  words: string
  kind: 'text' | 'lines' | 'number' | 'yesNo' | 'json'
  choices?: readonly string[]
  isRequired: boolean
  /** Whether pages may show what a channel has: else it is a secret, or may hold one. */
  isShown: boolean
}

/** The parts of a JSON schema that tell kinds of fields apart. */
interface FieldSchema {
  type?: string | string[]
  description?: string
  enum?: string[]
  const?: string
  anyOf?: FieldSchema[]
  contentMediaType?: string
}

/** The fields of a provider's config, from its schema: the schema stays the only place that says what a config may be. */
export function configFieldsOf({
  config,
  shownFields = [],
}: Pick<ProviderRules, 'config' | 'shownFields'>): ConfigField[] {
  const { properties = {}, required = [] } = z.toJSONSchema(config, { io: 'input', unrepresentable: 'any' })
  return Object.entries(properties).map(([name, schema]) => {
    const field = schema as FieldSchema
    const choices = choicesOf(field)
    return {
      name,
      words: field.description ?? '',
      kind: kindOf(field),
      ...(choices && { choices }),
      isRequired: required.includes(name),
      isShown: isShownField(name, shownFields),
    }
  })
}

/** The schema, and what it may be; without `null`, which counts as absent. */
const alternatives = (schema: FieldSchema): FieldSchema[] =>
  [schema, ...(schema.anyOf ?? []).flatMap(alternatives)].filter(({ type }) => type !== 'null')

function kindOf(schema: FieldSchema): ConfigField['kind'] {
  const all = alternatives(schema)
  const isOf = (...types: string[]) =>
    all.some(({ type = [] }) => [type].flat().some((one) => types.includes(one)))
  if (isOf('string')) return all.some(({ contentMediaType }) => contentMediaType) ? 'lines' : 'text'
  if (isOf('boolean')) return 'yesNo'
  if (isOf('integer', 'number')) return 'number'
  return isOf('object', 'array') ? 'json' : 'text'
}

function choicesOf(schema: FieldSchema): readonly string[] | undefined {
  const all = alternatives(schema)
  const named = all.flatMap((one) => one.enum ?? (one.const === undefined ? [] : [one.const]))
  return named.length > 0 ? named : undefined
}

/** What was typed into a field; undefined if nothing was. @throws SyntaxError if it has to be JSON and isn't. */
export function typedConfigValue({ kind, choices }: ConfigField, text: string): unknown {
  if (text === '') return undefined
  if (choices) return text
  switch (kind) {
    case 'yesNo':
      return text === 'true'
    case 'number':
      // Not a number: the schema says so in its own words.
      return /^-?\d+$/.test(text) ? Number(text) : text
    case 'json':
      return JSON.parse(text)
    case 'text':
    case 'lines':
      return /^\[\s*"/.test(text) ? JSON.parse(text) : text
  }
}
