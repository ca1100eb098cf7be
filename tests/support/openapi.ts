import { STATUS_CODES } from 'node:http'
import { Ajv2020, type AnySchema } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import type { ErrorCode } from '../../src/api/errors/codes.ts'
import { openApiDocument } from '../../src/api/openapi/document.ts'
import type { JsonSchema } from '../../src/api/openapi/json-schema.ts'
import { readSettings } from '../../src/platform/settings/settings.ts'
import { testSecrets } from './service.ts'

/** As of a service with all its routes. */
export const documentSettings = readSettings(undefined, {
  ...testSecrets,
  DATABASE_URL: 'postgres://localhost/x',
  REDIS_URL: 'redis://localhost',
  PUBLIC_BASE_URL: 'https://messages.example.com',
})

export const document = openApiDocument(documentSettings)

const schemas: Record<string, JsonSchema> = document.components.schemas
/** Clients have to expect new fields, so the document allows them. Here an undocumented field is a fault. */
const sealed = Object.fromEntries(
  Object.entries(schemas).map(([name, schema]) => [
    name,
    schema.type === 'object' ? { additionalProperties: false, ...schema } : schema,
  ]),
)

// Not strict: OpenAPI's own keywords are none of JSON Schema's.
const ajv = new Ajv2020({ strict: false, allErrors: true })
addFormats.default(ajv)
ajv.addSchema({ ...document, components: { ...document.components, schemas: sealed } }, 'openapi')

/** The fault of a value by a schema of the document; undefined if it has none. */
export function faultBy(schemaName: string, value: unknown): string | undefined {
  const validate = ajv.getSchema(`openapi#/components/schemas/${schemaName}`)
  if (!validate) throw new Error(`The document has no schema ${schemaName}`)
  return validate(value) ? undefined : ajv.errorsText(validate.errors)
}

interface Operation {
  responses: Partial<Record<number, DocumentedAnswer>>
}

interface DocumentedAnswer {
  /** One without a schema of its own refers to that of all answers. */
  headers: Record<string, { schema?: JsonSchema } | { $ref: string }>
  content?: Record<string, { schema?: { $ref?: string } }>
}

/**
 * Holds an answer against the document: its status is one that the route has, its body is of the type and form given for
 * it, it bears the headers that it has to, and no other of those that the document knows.
 *
 * @param path as it was called, e.g. `/v1/messages/4711`.
 * @param body parsed; undefined where there is none.
 * @throws where the answer isn't as documented.
 */
export function validateAnswer(
  method: string,
  path: string,
  status: number,
  body: unknown,
  headers: Headers,
): void {
  const what = `${method} ${path} ${status}`
  const documented = documentedAnswer(method, path, status, headers.get('Error-Code'))
  if (!documented) throw new Error(`${what}: not in the document`)
  checkHeaders(what, documented, headers)
  if (method === 'HEAD') return
  const fault = faultOfBody(documented, status, body, headers.get('Content-Type'))
  if (fault !== undefined) throw new Error(`${what}: ${fault}`)
}

function faultOfBody(
  { content }: DocumentedAnswer,
  status: number,
  body: unknown,
  type: string | null,
): string | undefined {
  if (!content) return (body ?? '') === '' ? undefined : 'bears a body'
  const [form = ''] = (type ?? '').split(';')
  const documented = content[form] ?? content['*/*']
  if (!documented) return `is of type ${type}`
  const schema = documented.schema?.$ref?.split('/').at(-1)
  if (schema === undefined) return
  const { statusCode, error } = body as { statusCode?: number; error?: string }
  if (schema === 'Error' && (statusCode !== status || error !== STATUS_CODES[status]))
    return `the body says ${statusCode} ${error}`
  return faultBy(schema, body)
}

const pathForms = Object.keys(document.paths).map((template) => ({
  template,
  form: new RegExp(`^${template.replaceAll(/\{[^}]+\}/g, '[^/]+')}$`),
}))

/** Without its query, and with `.` and `..` resolved, as they are in every URL. */
function pathnameOf(path: string): string {
  try {
    // `/docs/` is `/docs`, under another address.
    return new URL(`http://localhost${path}`).pathname.replace(/^\/docs\/$/, '/docs')
  } catch {
    return path
  }
}

/** Outside the document's paths there is only what every path may answer. */
function documentedAnswer(
  method: string,
  path: string,
  status: number,
  code: string | null,
): DocumentedAnswer | undefined {
  const pathname = pathnameOf(path)
  const matching = pathForms.filter(({ form }) => form.test(pathname))
  const operations = matching.map(
    ({ template }): Partial<Record<string, Operation>> => document.paths[template] ?? {},
  )
  const name = method.toLowerCase()
  // `cancel` is a path of its own, and by other methods an id of none.
  const operation = operations
    .map((each) => each[name] ?? (name === 'head' ? each.get : undefined))
    .find(Boolean)
  // Media links are a route only with PUBLIC_BASE_URL.
  const isAbsentRoute = status === 404 && code === 'route_not_found' && pathname.startsWith('/media/')
  if (operation) return isAbsentRoute ? ofNoRoute(operation.responses[status]) : operation.responses[status]
  const [any] = operations.flatMap((each) => Object.values(each))
  const elsewhere = document.paths['/v1/messages/{requestId}']?.get
  if (any) return status === 405 || status === 400 ? ofNoRoute(any.responses[status]) : undefined
  return status === 404 || status === 400 ? ofNoRoute(elsewhere?.responses[status]) : undefined
}

/** The kinds of errors that a request gets which no route serves. */
const codesOfNoRoute = ['invalid_http', 'route_not_found', 'method_not_allowed'] satisfies ErrorCode[]

const ofNoRoute = (answer: DocumentedAnswer | undefined): DocumentedAnswer | undefined =>
  answer && {
    ...answer,
    headers: { ...answer.headers, 'Error-Code': { schema: { type: 'string', enum: codesOfNoRoute } } },
  }

const headersOfAll = {
  ...document.components.headers,
  'Error-Code': { required: true, schema: schemas.ErrorCode ?? {} },
}

function checkHeaders(what: string, documented: DocumentedAnswer, headers: Headers) {
  for (const [name, { required, schema: ofAll }] of Object.entries(headersOfAll)) {
    const own = documented.headers[name]
    const { $ref: _, ...schema } = (own && 'schema' in own && own.schema) || ofAll
    const value = headers.get(name)
    if (value === null) {
      if (required && name in documented.headers) throw new Error(`${what}: lacks the header ${name}`)
      continue
    }
    if (!(name in documented.headers)) throw new Error(`${what}: bears the header ${name}`)
    const typed = schema.type === 'integer' ? Number(value) : value
    if (!ajv.validate(schema as AnySchema, typed)) throw new Error(`${what}: ${name} is ${value}`)
  }
}
