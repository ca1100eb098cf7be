import { type ErrorCode, errorCodes } from '../errors/codes.ts'
import { headersOfCode } from '../errors/headers.ts'
import { errorBody } from '../errors.ts'
import { exampleIds } from '../routes/examples.ts'
import type { DocumentSettings, Refusals, Route } from '../routes/route.ts'
import { formOf, inputSchema, type JsonSchema, ref } from './json-schema.ts'

interface Header {
  description: string
  required?: true
  schema: JsonSchema
}

const quoted = (example: string): JsonSchema => ({ type: 'string', examples: [example] })

/** Every header that an answer may have, except `Error-Code` and those of HTTP itself. */
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
  Link: {
    description: 'The page about this error, as a web link (RFC 8288).',
    required: true,
    schema: quoted(headersOfCode('invalid_body').Link),
  },
  Allow: { description: 'The methods that the path supports.', schema: quoted('GET, HEAD') },
  ETag: {
    description: 'The version of the content, for `If-None-Match`.',
    schema: quoted('"5HjwG0aNbAWpyZ5Y"'),
  },
}

/** A program decides by the code: `message` is for people. */
const errorCodeHeader = (codes: readonly ErrorCode[]): Header => ({
  description: 'The kind of the error, for programs.',
  required: true,
  schema: { ...ref('ErrorCode'), enum: codes },
})

const rateLimitHeaders = ['RateLimit-Policy', 'RateLimit']

/** The statuses of refusals that may come after the rate limit of the account was counted, and then have its headers. */
const counted: Record<NonNullable<Route['limit']>, readonly number[]> = {
  send: [422, 429, 500, 503],
  request: [400, 404, 422, 429, 500, 503],
  read: [],
}

/** Meanings of statuses that a route may answer for several kinds of errors. */
const meanings: Record<number, string> = {
  400: 'The request is invalid. Fix what `message` names.',
  429: 'Too many requests. Nothing was accepted; wait for `Retry-After`.',
  503: 'Not available at the moment. Wait for `Retry-After`, then try again.',
}

const meaningOf = (status: number, [code, other]: readonly ErrorCode[]): string =>
  (code && !other ? errorCodes[code].why : meanings[status]) ?? ''

export interface AnswerDescription {
  description: string
  headers: Record<string, { $ref: string } | Header>
  content?: Record<string, object>
}

const headerRefs = (names: readonly string[]) =>
  Object.fromEntries(
    ['X-Request-Id', ...new Set(names)].map((name) => [name, { $ref: `#/components/headers/${name}` }]),
  )

/** The answers of a route that refuses nothing. */
export function answersOf({
  answer,
  dryRunAnswer,
  limit,
  isIdempotent,
}: Pick<Route, 'answer' | 'dryRunAnswer' | 'limit' | 'isIdempotent'>): Record<string, AnswerDescription> {
  const { status = 200, what, schema, example, types = [], hasEtag } = answer
  const ofEtag = headerRefs(['ETag'])
  const content = {
    ...(schema && { 'application/json': { schema: inputSchema(schema), example } }),
    ...Object.fromEntries(types.map((type) => [type, type === '*/*' ? {} : { schema: formOf(type) }])),
  }
  const names = [
    ...(limit === 'send' || limit === 'request' ? rateLimitHeaders : []),
    ...(isIdempotent ? ['Idempotent-Replayed'] : []),
  ]
  return {
    [status]: {
      description: what,
      headers: hasEtag ? ofEtag : headerRefs(names),
      ...(Object.keys(content).length > 0 && { content }),
    },
    ...(dryRunAnswer && answersOf({ answer: dryRunAnswer, ...(limit && { limit }) })),
    ...(hasEtag && { 304: { description: 'Unchanged since the `If-None-Match`.', headers: ofEtag } }),
  }
}

/** The error answers by status, with the service's messages as examples. */
export function refusedAnswers(
  refusals: Refusals,
  { limit = 'read' }: Route,
  settings: DocumentSettings,
): Record<string, AnswerDescription> {
  const made = Object.entries(refusals).map(([name, { summary, error, otherTypes = [] }]) => ({
    name,
    summary,
    otherTypes,
    error: error(settings),
  }))
  const statuses = [...new Set(made.map(({ error }) => error.statusCode))]
  return Object.fromEntries(
    statuses.map((status) => {
      const same = made.filter(({ error }) => error.statusCode === status)
      const codes = [...new Set(same.map(({ error }) => error.code))]
      const ofCount = counted[limit].includes(status) ? rateLimitHeaders : []
      const examples = Object.fromEntries(
        same.map(({ name, summary, error }) => [
          name,
          { summary, value: errorBody(status, error.message, exampleIds.requestId) },
        ]),
      )
      return [
        status,
        {
          description: meaningOf(status, codes),
          headers: {
            ...headerRefs(['Link', ...same.flatMap(({ error }) => Object.keys(error.headers)), ...ofCount]),
            'Error-Code': errorCodeHeader(codes),
          },
          content: {
            'application/json': { schema: ref('Error'), examples },
            ...Object.fromEntries(
              same.flatMap(({ otherTypes }) => otherTypes).map((type) => [type, { schema: formOf(type) }]),
            ),
          },
        },
      ]
    }),
  )
}
