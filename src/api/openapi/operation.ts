import { z } from 'zod'
import { idempotencyKeptHours } from '../../../db/admission/idempotency-keys.ts'
import { idempotencyKeyPattern, maxKeyLength } from '../../core/requests/idempotency-key.ts'
import type { QueryParameter } from '../../core/requests/query.ts'
import { type DocumentSettings, type PathParameter, type Route, schemaOf } from '../routes/route.ts'
import { formOf, inputSchema, mapValues } from './json-schema.ts'
import { refusalsOf } from './refusals.ts'
import { type AnswerDescription, answersOf, refusedAnswers } from './responses.ts'

/** A route as the document has it. */
export interface Operation {
  operationId: string
  tags: string[]
  summary: string
  description?: string
  security?: Record<string, readonly string[]>[]
  /** The key has to have one of them. */
  'x-permissions'?: readonly string[]
  /** No call of a client: generators that know the extension leave it out. */
  'x-internal'?: true
  parameters?: object[]
  requestBody?: object
  responses: Record<string, AnswerDescription>
}

export function operationOf(operationId: string, route: Route, settings: DocumentSettings): Operation {
  const {
    tag,
    summary,
    description,
    permissions = [],
    params = {},
    query,
    isIdempotent,
    limit,
    isInternal,
  } = route
  const parameters = [
    ...Object.entries(params).map(inPath),
    ...(query ? inQuery(query.parameters) : []),
    ...(isIdempotent ? [idempotencyKey(limit === 'send')] : []),
    ...(limit === 'send' ? [traceparent] : []),
  ]
  const requestBody = bodyOf(route)
  return {
    operationId,
    tags: [tag],
    summary,
    description,
    security: permissions.length > 0 ? [{ apiKey: [] }] : [],
    ...(permissions.length > 0 && { 'x-permissions': permissions }),
    ...(isInternal && { 'x-internal': true as const }),
    ...(parameters.length > 0 && { parameters }),
    ...(requestBody && { requestBody }),
    responses: { ...answersOf(route), ...refusedAnswers(refusalsOf(route), route, settings) },
  }
}

const inPath = ([name, { what, example }]: [string, PathParameter]) => ({
  name,
  in: 'path',
  required: true,
  description: what,
  schema: { type: 'string' },
  ...(example !== undefined && { example }),
})

function inQuery(parameters: Record<string, QueryParameter>) {
  const { properties = {} } = inputSchema(z.object(mapValues(parameters, ({ schema }) => schema)))
  return Object.entries(parameters).map(([name, { what, isRequired }]) => ({
    name,
    in: 'query',
    ...(isRequired && { required: true }),
    description: what,
    schema: properties[name],
  }))
}

/** A DELETE refuses a body with content; HTTP gives it no meaning, so the document has none. */
function bodyOf({ method, body }: Route): object | undefined {
  if (!body || method === 'delete') return undefined
  const { description, isOptional = false, examples, otherTypes = [] } = body
  return {
    required: !isOptional,
    ...(description !== undefined && { description }),
    content: {
      'application/json': { schema: inputSchema(schemaOf(body, [])), examples },
      ...Object.fromEntries(otherTypes.map((type) => [type, { schema: formOf(type) }])),
    },
  }
}

const idempotencyKey = (isSend: boolean) => ({
  name: 'Idempotency-Key',
  in: 'header',
  description: `Makes the request safe to repeat: a repeat within ${idempotencyKeptHours} hours, with the same key and the same body, ${isSend ? 'gets the same answer and sends nothing' : 'gets the same id, without the secret, and creates nothing'}. 1 to ${maxKeyLength} characters, bare or in double quotes.`,
  schema: { type: 'string', pattern: idempotencyKeyPattern },
})

const traceparent = {
  name: 'traceparent',
  in: 'header',
  description:
    'W3C Trace Context: the send becomes a part of that trace, if the operator uses tracing. A malformed value is ignored.',
  schema: { type: 'string', examples: ['00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'] },
}
