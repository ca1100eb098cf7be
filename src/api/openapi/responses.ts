import { errorBody } from '../errors.ts'
import { exampleIds } from './examples.ts'
import { type JsonSchema, ref } from './json-schema.ts'
import type { Refusals } from './refusals.ts'

interface Header {
  description: string
  required?: true
  schema: JsonSchema
}

const quoted = (example: string): JsonSchema => ({ type: 'string', examples: [example] })

/** Every header that an answer may have, except those of HTTP itself. */
export const headers: Record<string, Header> = {
  'X-Request-Id': {
    description:
      'The id of this request, made by the service; the same as `requestId` in an error or a 202. A repeat with the same Idempotency-Key has the id of the first request.',
    required: true,
    schema: { type: 'string', format: 'uuid', examples: [exampleIds.requestId] },
  },
  'RateLimit-Policy': {
    description:
      '`q` requests in `w` seconds: `default` of the account, `key` of reads and refused requests of this key.',
    schema: quoted('"default";q=600;w=60'),
  },
  RateLimit: {
    description: '`r` requests are left; the count starts again in `t` seconds.',
    schema: quoted('"default";r=599;t=60'),
  },
  'Idempotent-Replayed': {
    description: 'Present if this is the answer to an earlier request with the same Idempotency-Key.',
    schema: { type: 'string', enum: ['true'] },
  },
  'Retry-After': {
    description: 'The number of seconds to wait before trying again.',
    schema: { type: 'integer', minimum: 1 },
  },
  'WWW-Authenticate': { description: 'How to authenticate.', schema: { type: 'string', enum: ['Bearer'] } },
  Allow: { description: 'The methods that the path supports.', schema: quoted('GET, HEAD') },
  ETag: {
    description: 'The version of the content, for `If-None-Match`.',
    schema: quoted('"5HjwG0aNbAWpyZ5Y"'),
  },
}

export const rateLimitHeaders = ['RateLimit-Policy', 'RateLimit']
/** Statuses of answers to sends that may come after the rate limit was counted, and then have its headers. */
export const countedSend = [422, 429, 500, 503]
/** Statuses of answers of an account's routes that may have these headers. */
export const countedRequest = [400, 404, ...countedSend]

const meanings: Record<number, string> = {
  400: 'The request is invalid. Fix what `message` names.',
  401: 'No valid API key.',
  403: 'The key lacks the permission, or the signature is wrong.',
  404: 'It does not exist, or belongs to another account.',
  405: 'The path does not support this method. `Allow` lists the supported ones.',
  409: 'The send no longer waits, so that it cannot be canceled or moved.',
  422: 'The Idempotency-Key was used for another request. Nothing was accepted.',
  429: 'Too many requests. Nothing was accepted; wait for `Retry-After`.',
  500: 'A fault of the service. Quote the `requestId` when you ask for help.',
  503: 'Not available at the moment. Wait for `Retry-After`, then try again.',
}

export interface AnswerDescription {
  description: string
  headers: Record<string, { $ref: string }>
  content?: Record<string, object>
}

export const headerRefs = (names: readonly string[]) =>
  Object.fromEntries(
    ['X-Request-Id', ...names].map((name) => [name, { $ref: `#/components/headers/${name}` }]),
  )

/** An answer in JSON, with an example. */
export function answer(
  description: string,
  schema: string,
  example: object,
  headerNames: readonly string[] = [],
): AnswerDescription {
  return {
    description,
    headers: headerRefs(headerNames),
    content: { 'application/json': { schema: ref(schema), example } },
  }
}

/** The error answers by status, with the service's messages as examples. */
export function refused(
  refusals: Refusals,
  counted: readonly number[] = [],
): Record<string, AnswerDescription> {
  const statuses = new Set(Object.values(refusals).map(({ error }) => error.statusCode))
  return Object.fromEntries(
    [...statuses].map((status) => {
      const same = Object.entries(refusals).filter(([, { error }]) => error.statusCode === status)
      const ofCount = counted.includes(status) ? rateLimitHeaders : []
      const own = same.flatMap(([, { error }]) => Object.keys(error.headers))
      const examples = Object.fromEntries(
        same.map(([name, { summary, error }]) => [
          name,
          { summary, value: errorBody(status, error.message, exampleIds.requestId) },
        ]),
      )
      return [
        status,
        {
          description: meanings[status] ?? '',
          headers: headerRefs([...new Set([...own, ...ofCount])]),
          content: { 'application/json': { schema: ref('Error'), examples } },
        },
      ]
    }),
  )
}
