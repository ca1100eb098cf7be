import { z } from 'zod'

/** A JSON Schema of OpenAPI 3.1; only the keywords used here have a type. */
export interface JsonSchema {
  type?: string | readonly string[]
  description?: string
  properties?: Record<string, JsonSchema>
  items?: JsonSchema
  anyOf?: readonly JsonSchema[]
  enum?: readonly unknown[]
  [keyword: string]: unknown
}

export const ref = (name: string): JsonSchema => ({ $ref: `#/components/schemas/${name}` })

/** The JSON Schema of a zod schema's input, before it is parsed. */
export function inputSchema(schema: z.ZodType): JsonSchema {
  const { $schema, ...form } = z.toJSONSchema(schema, {
    io: 'input',
    unrepresentable: 'any',
    override: ({ jsonSchema }) => simplify(jsonSchema as JsonSchema),
  }) as JsonSchema
  return form
}

/**
 * Rewrites a schema for client generators, most of which don't support all keywords: `enum` instead of `const`, and `null` as one
 * of the types instead of an `anyOf`. Also removes JavaScript's limits of integers.
 */
function simplify(schema: JsonSchema): void {
  if (schema.minimum === Number.MIN_SAFE_INTEGER) delete schema.minimum
  if (schema.maximum === Number.MAX_SAFE_INTEGER) delete schema.maximum
  if ('const' in schema) schema.enum = [schema.const]
  delete schema.const
  const [value, nothing] = schema.anyOf ?? []
  if (!value || nothing?.type !== 'null') return
  delete schema.anyOf
  Object.assign(schema, { ...orNull(value), ...schema })
}

/** The schema of a nullable field, without null. */
export function notNull({ type, ...schema }: JsonSchema): JsonSchema {
  const [only = 'object'] = [type ?? []].flat().filter((name) => name !== 'null')
  return { ...schema, type: only }
}

function orNull(schema: JsonSchema): JsonSchema {
  const { type = [], enum: values } = schema
  return { ...schema, type: [...[type].flat(), 'null'], ...(values && { enum: [...values, null] }) }
}

export function mapValues<T, R>(
  record: Record<string, T>,
  to: (value: T, key: string) => R,
): Record<string, R> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, to(value, key)]))
}
