import { z } from 'zod'
import { namedSchemas } from '../routes/schemas.ts'

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

const uriOf = (name: string) => `#/components/schemas/${name}`

export const ref = (name: string): JsonSchema => ({ $ref: uriOf(name) })

/** The form of a body whose fields aren't described. */
export const formOf = (type: string): JsonSchema => ({
  type: type.startsWith('application/') ? 'object' : 'string',
})

const options = {
  // Describes a body as a client writes it.
  io: 'input',
  unrepresentable: ({ zodSchema }: { zodSchema: z.core.$ZodType }) =>
    zodSchema._zod.def.type === 'date'
      ? ({ type: 'string', format: 'date-time' } as const)
      : ('any' as const),
} as const

/** The JSON Schemas of all named schemas, which refer to each other by their names. */
export function allNamed(): Record<string, JsonSchema> {
  const { schemas } = z.toJSONSchema(namedSchemas, { ...options, uri: uriOf })
  return mapValues(schemas as Record<string, JsonSchema>, ({ $schema, $id, ...schema }) => simplified(schema))
}

/** The JSON Schema of a zod schema's input. One with a name is a reference, also within it. */
export function inputSchema(schema: z.ZodType): JsonSchema {
  const name = namedSchemas.get(schema)?.id
  // Without this line it would be converted again for each of its uses.
  if (name !== undefined) return ref(name)
  const { $schema, ...form } = z.toJSONSchema(schema, { ...options, override: referToNamed }) as JsonSchema
  return simplified(form)
}

function referToNamed({ zodSchema, jsonSchema }: { zodSchema: z.core.$ZodType; jsonSchema: object }): void {
  const name = namedSchemas.get(zodSchema)?.id
  if (name === undefined) return
  const schema = jsonSchema as JsonSchema
  for (const keyword of Object.keys(schema)) delete schema[keyword]
  Object.assign(schema, ref(name))
}

/**
 * Rewrites a schema for client generators, most of which don't support all keywords: `enum` instead of `const`, and `null` as one
 * of the types instead of an `anyOf`. Also removes JavaScript's limits of integers.
 */
function simplified(given: JsonSchema): JsonSchema {
  const schema = mapValues(given, simplifiedWithin) as JsonSchema
  if (schema.minimum === Number.MIN_SAFE_INTEGER) delete schema.minimum
  if (schema.maximum === Number.MAX_SAFE_INTEGER) delete schema.maximum
  if ('const' in schema) schema.enum = [schema.const]
  delete schema.const
  const [value, nothing] = schema.anyOf ?? []
  if (!value || nothing?.type !== 'null') return schema
  const { anyOf: _, ...others } = schema
  return { ...orNull(value), ...others }
}

function simplifiedWithin(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(simplifiedWithin)
  return typeof value === 'object' && value !== null ? simplified(value as JsonSchema) : value
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
