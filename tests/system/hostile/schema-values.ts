import fc from 'fast-check'

/** The part of a JSON Schema that is used, as `z.toJSONSchema` writes one. */
export interface JsonSchema {
  type?: string | string[]
  properties?: Record<string, JsonSchema>
  required?: string[]
  items?: JsonSchema
  maxItems?: number
  anyOf?: JsonSchema[]
  enum?: unknown[]
}

/** Values of fields that more is asked of than their type, by path: `message.template.variables[].key`. */
export type Pools = Record<string, fc.Arbitrary<unknown>>

const maxItems = 4

/**
 * Values that a schema describes: every field of it, and no other, so that a field which is added to the service is sent
 * without a change here. Optional ones are absent at times, and null at times where that is allowed.
 */
export function valuesOf(
  schema: JsonSchema,
  pools: Pools,
  text: fc.Arbitrary<string>,
  path = '',
): fc.Arbitrary<unknown> {
  const valuesAt = (inner: JsonSchema, innerPath = path) => valuesOf(inner, pools, text, innerPath)
  if (schema.anyOf) return mostlyNotNull(schema.anyOf.map((inner) => ({ inner, values: valuesAt(inner) })))
  if (Array.isArray(schema.type)) return valuesAt({ ...schema, anyOf: schema.type.map((type) => ({ type })) })
  const pool = schema.type === 'null' ? undefined : pools[path]
  if (pool) return pool
  if (schema.enum) return fc.constantFrom(...schema.enum)
  switch (schema.type) {
    case 'object': {
      const { properties = {}, required = [] } = schema
      const fields = Object.entries(properties).map(([name, inner]): [string, fc.Arbitrary<unknown>] => [
        name,
        valuesAt(inner, path === '' ? name : `${path}.${name}`),
      ])
      return fc.record(Object.fromEntries(fields), { requiredKeys: required, noNullPrototype: true })
    }
    case 'array':
      return fc.array(valuesAt(schema.items ?? {}, `${path}[]`), {
        maxLength: Math.min(schema.maxItems ?? maxItems, maxItems),
      })
    case 'string':
      return text
    case 'boolean':
      return fc.boolean()
    case 'integer':
      return fc.integer()
    case 'number':
      return fc.double({ noNaN: true, noDefaultInfinity: true })
    case 'null':
      return fc.constant(null)
    default:
      throw new Error(`No values known for ${path}: ${JSON.stringify(schema)}`)
  }
}

/** The paths of all fields that a schema describes. */
export function pathsOf(schema: JsonSchema, path = ''): string[] {
  const inner = schema.anyOf?.flatMap((one) => pathsOf(one, path)) ?? []
  const fields = Object.entries(schema.properties ?? {}).flatMap(([name, field]) => {
    const fieldPath = path === '' ? name : `${path}.${name}`
    return [fieldPath, ...pathsOf(field, fieldPath)]
  })
  const items = schema.items ? pathsOf(schema.items, `${path}[]`) : []
  return [...inner, ...fields, ...items]
}

function mostlyNotNull(kinds: { inner: JsonSchema; values: fc.Arbitrary<unknown> }[]) {
  return fc.oneof(
    ...kinds.map(({ inner, values }) => ({ arbitrary: values, weight: inner.type === 'null' ? 1 : 4 })),
  )
}
