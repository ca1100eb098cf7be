import { z } from 'zod'

/** A JSON Schema as OpenAPI 3.1 has it, as far as it is looked into here. */
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

/** What a zod schema takes: the form of a body before it is parsed. */
export function inputSchema(schema: z.ZodType): JsonSchema {
  const { $schema, ...form } = z.toJSONSchema(schema, {
    io: 'input',
    unrepresentable: 'any',
    override: ({ jsonSchema }) => plain(jsonSchema as JsonSchema),
  }) as JsonSchema
  return form
}

/** Without what JavaScript alone knows of integers, and with an `enum` for a `const`, which fewer generators of clients read. */
function plain(schema: JsonSchema): void {
  if (schema.minimum === Number.MIN_SAFE_INTEGER) delete schema.minimum
  if (schema.maximum === Number.MAX_SAFE_INTEGER) delete schema.maximum
  if ('const' in schema) schema.enum = [schema.const]
  delete schema.const
}

/**
 * Says of each field what it is, and of one that may be null that it may be, in a word rather than by an `anyOf`.
 *
 * @param descriptions by the fields' paths, e.g. `message.template.variables[].key`.
 */
export function describeFields(
  schema: JsonSchema,
  descriptions: Readonly<Record<string, string>>,
  path = '',
): JsonSchema {
  const { properties, items, anyOf, ...rest } = schema
  const [value, nothing] = anyOf ?? []
  if (value && nothing?.type === 'null')
    return describeFields({ ...rest, ...orNull(value) }, descriptions, path)
  const description = descriptions[path]
  return {
    ...rest,
    ...(description !== undefined && { description }),
    ...(items && { items: describeFields(items, descriptions, `${path}[]`) }),
    ...(properties && {
      properties: mapValues(properties, (field, name) =>
        describeFields(field, descriptions, path ? `${path}.${name}` : name),
      ),
    }),
  }
}

/** A field that may be null, where it has to be there. */
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
