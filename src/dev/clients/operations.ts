import { randomBytes } from 'node:crypto'
import { errorCodeNames, errorCodes } from '../../api/errors/codes.ts'
import { openApiDocument } from '../../api/openapi/document.ts'
import type { JsonSchema } from '../../api/openapi/json-schema.ts'
import type { Operation } from '../../api/openapi/operation.ts'
import { readSettings } from '../../platform/settings/settings.ts'

/** A call of a client, as both clients have it as a method. */
export interface ClientOperation {
  /** The operationId; a dry run has a name of its own. */
  name: string
  operationId: string
  /** Whether it is the dry run of that operation. */
  isDryRun?: true
  method: string
  path: string
  summary: string
  description: string
  /** The names in its path. */
  params: string[]
  query: Parameter[]
  body?: { schema: string; isRequired: boolean }
  /** The schema of its answer; absent for an answer without a body. */
  answer?: string
  /** Whether it takes an Idempotency-Key. */
  isKeyed: boolean
  /** Whether a repeat after a lost connection is harmless. */
  isRepeatable: boolean
  /** The field of its pages that has the items, and their schema. */
  items?: { field: string; schema: string }
}

/** POSTs without an Idempotency-Key whose repeat finds done what the first one did. */
const repeatablePosts = [
  ...['cancelMessage', 'cancelMessages', 'addSuppression'],
  ...['enableEndpoint', 'disableEndpoint'],
]

/** Of a service with the default settings. Their values bound nothing that a client's types say. */
const settings = readSettings(undefined, {
  DATABASE_URL: 'postgres://localhost/x',
  REDIS_URL: 'redis://localhost',
  CREDENTIALS_KEY: randomBytes(32).toString('base64'),
  API_KEY_PEPPER: randomBytes(32).toString('base64'),
})

/** A repeat with the same key finds the endpoint without its secret: after a loss, the caller decides. */
const oncePosts = ['createEndpoint']

type Document = ReturnType<typeof clientDocument>

/** The OpenAPI document, without what is for providers, load balancers and readers, and without errors: these are classes. */
export function clientDocument() {
  const document = openApiDocument(settings)
  const paths = Object.entries(document.paths).flatMap(([path, operations]) => {
    const called = Object.entries(operations).filter(([, operation]) => !operation['x-internal'])
    return called.length === 0 ? [] : [[path, Object.fromEntries(called.map(withoutErrors))] as const]
  })
  return { ...document, paths: Object.fromEntries(paths) }
}

function withoutErrors([method, operation]: [string, Operation]): [string, Operation] {
  const good = Object.entries(operation.responses).filter(([status]) => status.startsWith('2'))
  const responses = good.map(([status, answer]) => [status, { ...answer, headers: {} }])
  return [method, { ...operation, responses: Object.fromEntries(responses) }]
}

export const operationsOf = (document: Document): ClientOperation[] =>
  Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.entries(operations).flatMap(([method, operation]) => {
      const { operationId: name, summary, description = '', responses } = operation
      const parameters = (operation.parameters ?? []) as Parameter[]
      const isKeyed = parameters.some((one) => one.in === 'header' && one.name === 'Idempotency-Key')
      const body = operation.requestBody as Content & { required: boolean }
      const hasDryRun = parameters.some(isOfDryRun)
      const answer = schemaIn(
        Object.entries(responses).find(
          ([status]) => /^2/.test(status) && !(hasDryRun && status === '200'),
        )?.[1],
      )
      const items = method === 'get' && answer ? itemsOf(document.components.schemas, answer) : undefined
      const client: ClientOperation = {
        ...{ name, operationId: name, method: method.toUpperCase(), path, summary, description, isKeyed },
        params: parameters.filter((one) => one.in === 'path').map((one) => one.name),
        query: parameters.filter((one) => one.in === 'query' && !isOfDryRun(one)),
        isRepeatable:
          method !== 'post' || (isKeyed && !oncePosts.includes(name)) || repeatablePosts.includes(name),
        ...(body && { body: { schema: schemaIn(body) ?? '', isRequired: body.required } }),
        ...(answer !== undefined && { answer }),
        ...(items && { items }),
      }
      return hasDryRun ? [client, dryRunOf(client, responses[200])] : [client]
    }),
  )

const isOfDryRun = (parameter: Parameter) => parameter.in === 'query' && parameter.name === 'dryRun'

/** Each as an operation of its own, by the operation that it tries. */
const dryRunNames: Record<string, string> = {
  sendMessage: 'explainMessage',
  sendMessageOnChannel: 'explainMessageOnChannel',
  sendBatch: 'explainBatch',
}

/** A dry run answers otherwise, so it is a method of its own. Nothing is accepted: it needs no key. */
function dryRunOf(
  operation: ClientOperation,
  answer: Operation['responses'][string] | undefined,
): ClientOperation {
  const schema = schemaIn(answer)
  const name = dryRunNames[operation.name]
  if (!answer || schema === undefined || name === undefined)
    throw new Error(`The dry run of ${operation.name} has no answer or no name`)
  return {
    ...operation,
    name,
    isDryRun: true,
    summary: `Find what \`${operation.name}\` would do, and send nothing`,
    description: answer.description.replace('With `dryRun=true`: w', 'W'),
    isKeyed: false,
    isRepeatable: true,
    answer: schema,
  }
}

interface Parameter {
  name: string
  in: string
  description: string
  required?: true
  schema: JsonSchema
}

interface Content {
  content?: Record<string, { schema?: { $ref?: string } }>
}

interface Webhook {
  post: { requestBody: object }
}

export const nameIn = (reference: string | undefined) => reference?.split('/').at(-1)

const schemaIn = (part: object | undefined) =>
  nameIn((part as Content | undefined)?.content?.['application/json']?.schema?.$ref)

/** A page has `next`, and one list. */
function itemsOf(schemas: Record<string, JsonSchema>, answer: string) {
  const { properties = {} } = schemas[answer] ?? {}
  if (!properties.next) return undefined
  const [field, list] = Object.entries(properties).find(([, { type }]) => type === 'array') ?? []
  const schema = nameIn(list?.items?.$ref as string | undefined)
  if (field === undefined || schema === undefined) throw new Error(`${answer} has pages without named items`)
  return { field, schema }
}

/** The schemas of the bodies of callbacks. */
export const callbackSchemas = ({ webhooks }: Document): string[] => [
  ...new Set(Object.values<Webhook>(webhooks).map(({ post }) => schemaIn(post.requestBody) ?? '')),
]

/** `channel_not_found` is ChannelNotFoundError in both clients. */
export const errorClasses = errorCodeNames.map((code) => ({
  code,
  ...errorCodes[code],
  className: `${code
    .replace(/_error$/, '')
    .split('_')
    .map((word) => word.replace(/^./, (letter) => letter.toUpperCase()))
    .join('')}Error`,
}))
