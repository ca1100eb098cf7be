import type { JsonSchema } from '../openapi/json-schema.ts'
import { Prose } from './inline.tsx'

type Properties = Record<string, JsonSchema>

export const schemaId = (name: string) => `schema-${name}`
const nameOf = (schema: JsonSchema) => String(schema.$ref ?? '').replace('#/components/schemas/', '')

interface SchemaProps {
  schema: JsonSchema
  /** The schemas by their names, if the fields of those within it are shown; otherwise a link leads to them. */
  schemas?: Record<string, JsonSchema>
}

/** The fields of a schema. */
export function SchemaFields({ schema: given, schemas }: SchemaProps) {
  const schema = schemas ? resolved(given, schemas) : given
  const fields = fieldsOf(schema, schemas)
  const choices = [schema.oneOf, schema.anyOf].flat().filter((one) => one !== undefined) as JsonSchema[]
  return (
    <>
      {schema.description !== undefined && <Prose text={schema.description} />}
      {choices.length > 0 && (
        <ul>
          {choices.map((choice) => (
            <li>
              <Type schema={choice} />
            </li>
          ))}
        </ul>
      )}
      {fields.length > 0 && <FieldList fields={fields} />}
    </>
  )
}

interface ListedField {
  path: string
  field: JsonSchema
  isRequired: boolean
  /** The place of a field that isn't in a body, such as `query`. */
  place?: string
}

/** Fields with their types and meanings, one below the other: a table would break their names on a phone. */
export function FieldList({ fields }: { fields: readonly ListedField[] }) {
  return (
    <ul class="fields">
      {fields.map(({ path, field, isRequired, place }) => (
        <li>
          <p>
            <code>{path}</code>{' '}
            <small>
              {place !== undefined && `${place}, `}
              <Type schema={field} />
              {isRequired && ', required'}
            </small>
          </p>
          {field.description !== undefined && <Prose text={field.description} />}
        </li>
      ))}
    </ul>
  )
}

interface Field {
  path: string
  field: JsonSchema
  isRequired: boolean
}

function fieldsOf(
  { properties = {}, required }: JsonSchema,
  schemas: SchemaProps['schemas'],
  parent = '',
): Field[] {
  const needed = Array.isArray(required) ? required : []
  return Object.entries(properties).flatMap(([name, field]) => {
    const path = parent + name
    const whole = (schema: JsonSchema) => (schemas ? resolved(schema, schemas) : schema)
    const within = field.items
      ? fieldsOf(whole(field.items), schemas, `${path}[].`)
      : fieldsOf(whole(field), schemas, `${path}.`)
    return [{ path, field, isRequired: needed.includes(name) }, ...within]
  })
}

/** All fields of a body, those of the named schemas within it, too. */
export const allFields = (schema: JsonSchema, schemas: Record<string, JsonSchema>) =>
  fieldsOf(resolved(schema, schemas), schemas)

/** A schema with the fields that it refers to, or that its choices have. */
function resolved(schema: JsonSchema, schemas: Record<string, JsonSchema>): JsonSchema {
  const named = schemas[nameOf(schema)] ?? schema
  const choices = [named.oneOf, named.anyOf].flat().filter((one) => one !== undefined) as JsonSchema[]
  const all = choices.map((choice) => resolved(choice, schemas))
  const properties = all.reduce((before, choice) => merged(before, choice.properties), named.properties ?? {})
  const inAll = (name: unknown) =>
    all.every(({ required }) => Array.isArray(required) && required.includes(name))
  const required = [
    ...(Array.isArray(named.required) ? named.required : []),
    ...(all.length > 0 ? Object.keys(properties).filter(inAll) : []),
  ]
  const { oneOf: _, anyOf: __, ...rest } = named
  return { ...rest, properties, required }
}

/** The fields of one choice and of another: a field of both, such as the type of a message, has the values of both. */
function merged(one: Properties, other: Properties = {}): Properties {
  const both = Object.entries(other).map(([name, field]) => {
    const before = one[name]
    const values = before?.enum && field.enum && [...new Set([...before.enum, ...field.enum])]
    return [name, values ? { ...field, enum: values } : field] as const
  })
  return { ...one, ...Object.fromEntries(both) }
}

/** The type of a field, with its values and bounds. */
export function Type({ schema }: { schema: JsonSchema }) {
  const name = nameOf(schema)
  if (name !== '') return <a href={`schemas#${schemaId(name)}`}>{name}</a>
  const bounds = boundsOf(schema)
  return (
    <>
      {schema.enum ? schema.enum.map(valueIn) : [schema.type ?? 'any'].flat().join(' or ')}
      {schema.format !== undefined && ` (${schema.format})`}
      {schema.items && (
        <>
          {' of '}
          <Type schema={schema.items} />
        </>
      )}
      {bounds !== '' && `, ${bounds}`}
    </>
  )
}

const valueIn = (value: unknown, index: number) => (
  <>
    {index > 0 && ', '}
    <code>{String(value)}</code>
  </>
)

function boundsOf(schema: JsonSchema): string {
  const between = (least: unknown, most: unknown, unit: string) => {
    if (least === undefined && most === undefined) return []
    if (most === undefined) return [`at least ${least}${unit}`]
    return [least === undefined ? `at most ${most}${unit}` : `${least} to ${most}${unit}`]
  }
  return [
    ...between(schema.minLength, schema.maxLength, ' characters'),
    ...between(schema.minItems, schema.maxItems, ' items'),
    ...between(schema.minimum, schema.maximum, ''),
  ].join(', ')
}
