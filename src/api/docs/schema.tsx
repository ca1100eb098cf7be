import type { JsonSchema } from '../openapi/json-schema.ts'
import { Prose } from './inline.tsx'

export const schemaId = (name: string) => `schema-${name}`
const nameOf = (schema: JsonSchema) => String(schema.$ref ?? '').replace('#/components/schemas/', '')

interface SchemaProps {
  name: string
  schema: JsonSchema
  /** With them, the fields of named schemas within it are shown; else they are behind a link. */
  schemas?: Record<string, JsonSchema>
}

/** The fields of a schema. */
export function SchemaFields({ name, schema: given, schemas }: SchemaProps) {
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
      {fields.length > 0 && (
        <Scroll label={`Fields of ${name}`}>
          <table>
            <thead>
              <tr>
                <th>Field</th>
                <th>Type</th>
                <th>Meaning</th>
              </tr>
            </thead>
            <tbody>
              {fields.map(({ path, field, isRequired }) => (
                <tr>
                  <td>
                    <code>{path}</code>
                    {isRequired && <small> required</small>}
                  </td>
                  <td>
                    <Type schema={field} />
                  </td>
                  <td>{field.description !== undefined && <Prose text={field.description} />}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </Scroll>
      )}
    </>
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
  const properties = Object.assign({}, ...all.map((choice) => choice.properties), named.properties)
  const inAll = (name: unknown) =>
    all.every(({ required }) => Array.isArray(required) && required.includes(name))
  const required = [
    ...(Array.isArray(named.required) ? named.required : []),
    ...(all.length > 0 ? Object.keys(properties).filter(inAll) : []),
  ]
  const { oneOf: _, anyOf: __, ...rest } = named
  return { ...rest, properties, required }
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

/** Content that may be wider than a phone's screen. It can be scrolled by keyboard. */
export function Scroll({ label, children }: { label: string; children: unknown }) {
  return (
    <section class="scroll" tabindex={0} aria-label={label}>
      {children}
    </section>
  )
}
