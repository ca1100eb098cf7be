import type { JsonSchema } from '../../api/openapi/json-schema.ts'
import { nameIn } from './operations.ts'

/** Python's types of JSON. `Optional` says that null is a value, and `total=False` that a field may be absent. */
const plainTypes: Record<string, string> = {
  ...{ string: 'str', integer: 'int', number: 'float', boolean: 'bool', null: 'None' },
}

/** Words that are no names in Python, such as `from`. */
export const keywords = [
  ...['and', 'as', 'assert', 'async', 'await', 'break', 'class', 'continue', 'def', 'del', 'elif', 'else'],
  ...['except', 'False', 'finally', 'for', 'from', 'global', 'if', 'import', 'in', 'is', 'lambda', 'None'],
  ...['nonlocal', 'not', 'or', 'pass', 'raise', 'return', 'True', 'try', 'while', 'with', 'yield'],
]

/** Writes the named schemas of the document as classes: a TypedDict for each object. */
export class PythonTypes {
  readonly #classes: string[] = []
  readonly #aliases: string[] = []

  /** @returns the module with all schemas. Aliases come last, since they are evaluated as they are read. */
  static moduleOf(schemas: Record<string, JsonSchema>): string {
    const types = new PythonTypes()
    for (const [name, schema] of Object.entries(schemas)) types.#add(name, schema)
    return [...types.#classes, types.#aliases.join('\n')].join('\n\n\n')
  }

  #add(name: string, schema: JsonSchema) {
    if (isRecord(schema)) this.#classes.push(this.#classOf(name, schema))
    else this.#aliases.push(`${name} = ${this.typeOf(schema, name, '')}\n`)
  }

  /** The annotation of a schema; an object within another becomes a class of its own, named by where it is. */
  typeOf(schema: JsonSchema, name: string, module: string): string {
    const alternatives = (schema.oneOf ?? schema.anyOf) as JsonSchema[] | undefined
    if (schema.$ref !== undefined) return quotedName(`${module}${nameIn(String(schema.$ref))}`)
    if (alternatives)
      return `Union[${alternatives.map((one, n) => this.typeOf(one, `${name}${n + 1}`, module)).join(', ')}]`
    const kinds = [schema.type ?? []].flat().map(String)
    const values =
      schema.const === undefined ? schema.enum?.filter((value) => value !== null) : [schema.const]
    const types = values
      ? [`Literal[${values.map(literal).join(', ')}]`]
      : kinds.filter((kind) => kind !== 'null').map((kind) => this.#plain(kind, schema, name, module))
    const [type = 'Any', ...others] = types
    const all = others.length > 0 ? `Union[${[type, ...others].join(', ')}]` : type
    return kinds.includes('null') ? `Optional[${all}]` : all
  }

  #plain(kind: string, schema: JsonSchema, name: string, module: string): string {
    if (kind === 'array') return `List[${this.typeOf(schema.items ?? {}, `${name}Item`, module)}]`
    if (kind !== 'object') return plainTypes[kind] ?? 'Any'
    if (isRecord(schema)) {
      this.#classes.push(this.#classOf(name, schema))
      return quotedName(name)
    }
    const values = schema.additionalProperties
    return `Dict[str, ${typeof values === 'object' ? this.typeOf(values as JsonSchema, `${name}Value`, module) : 'Any'}]`
  }

  #classOf(name: string, schema: JsonSchema): string {
    const { properties = {}, required = [], description } = schema as JsonSchema & { required?: string[] }
    const fields = Object.entries(properties).map(([field, property]) => {
      const part = `${name}${field.replace(/^./, (letter) => letter.toUpperCase())}`
      const type = this.typeOf(property, part, '')
      return { field, type, isRequired: required.includes(field), doc: docOf(property.description) }
    })
    const doc = description === undefined ? '' : `${docOf(description).slice(1)}\n\n`
    if (fields.some(({ field }) => keywords.includes(field))) {
      if (fields.some(({ isRequired }) => !isRequired)) throw new Error(`${name}: Python has no such class`)
      const pairs = fields.map(({ field, type }) => `        "${field}": ${type},`)
      return `${name} = TypedDict(\n    "${name}",\n    {\n${pairs.join('\n')}\n    },\n)${docOf(description, '')}`
    }
    const textOf = (isRequired: boolean) =>
      fields
        .filter((field) => field.isRequired === isRequired)
        .map((one) => `    ${one.field}: ${one.type}${one.doc}`)
        .join('\n')
    const [needed, optional] = [textOf(true), textOf(false)]
    if (optional === '') return `class ${name}(TypedDict):\n${doc}${needed || '    pass'}`
    if (needed === '') return `class ${name}(TypedDict, total=False):\n${doc}${optional}`
    return `class _${name}Required(TypedDict):\n${needed}\n\n\nclass ${name}(_${name}Required, total=False):\n${doc}${optional}`
  }
}

/** An object with fields that have names. */
const isRecord = ({ type, properties }: JsonSchema) =>
  [type].flat().includes('object') && properties !== undefined

const literal = (value: unknown) =>
  typeof value === 'boolean' ? (value ? 'True' : 'False') : JSON.stringify(value)

/** Names are found later: a class may be named before its definition. */
const quotedName = (name: string) => `"${name}"`

/** A text below what it is about. */
export function docOf(text: string | undefined, indent = '    '): string {
  if (text === undefined) return ''
  const escaped = text.replaceAll('\\', '\\\\').replaceAll('"""', "'''")
  const lines = escaped.split('\n').map((line, n) => (n === 0 || line === '' ? line : indent + line))
  // A quote at the end would end the text one quote early.
  return `\n${indent}"""${lines.join('\n')}${escaped.endsWith('"') ? ' ' : ''}"""`
}
