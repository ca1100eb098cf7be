import { pageLimits, type QueryParameter } from '../../core/requests/query.ts'
import type { Settings } from '../../platform/settings/settings.ts'
import type { JsonSchema } from './json-schema.ts'
import type { AnswerDescription } from './responses.ts'

/** A route of the document. */
export interface Operation {
  operationId: string
  tags: string[]
  summary: string
  description?: string
  security?: Record<string, string[]>[]
  parameters?: object[]
  requestBody?: object
  responses: Record<string, AnswerDescription>
}

export type PathSettings = Pick<
  Settings,
  'MAX_BODY_BYTES' | 'PUBLIC_BASE_URL' | 'RATE_LIMIT_POINTS' | 'RATE_LIMIT_WINDOW_SECONDS'
>

/** For a route without an API key. */
export const open: [] = []

export const inPath = (name: string, description: string, example?: string) => ({
  name,
  in: 'path',
  required: true,
  description,
  schema: { type: 'string' },
  ...(example !== undefined && { example }),
})

const pageSchemas: Record<string, JsonSchema> = {
  limit: {
    type: 'integer',
    minimum: pageLimits.min,
    maximum: pageLimits.max,
    default: pageLimits.byDefault,
  },
  after: { type: 'string' },
}

/** @param schemas of the parameters but those of paging, as JSON Schema has words for them. */
export const inQuery = (
  parameters: Record<string, Pick<QueryParameter, 'what'>>,
  schemas: Record<string, JsonSchema> = {},
) =>
  Object.entries(parameters).map(([name, { what }]) => ({
    name,
    in: 'query',
    description: what,
    schema: pageSchemas[name] ?? schemas[name],
  }))

export const idempotencyKey = {
  name: 'Idempotency-Key',
  in: 'header',
  description:
    'Makes the request safe to repeat: a repeat within 24 hours, with the same key and the same message, gets the same answer and sends nothing. 1 to 255 characters, bare or in double quotes.',
  schema: { type: 'string', pattern: String.raw`^(?:[^"].{0,254}|"(?:[^"\\]|\\["\\]){1,255}")$` },
}

export const traceparent = {
  name: 'traceparent',
  in: 'header',
  description:
    'W3C Trace Context: the send becomes a part of that trace, if the operator uses tracing. A malformed value is ignored.',
  schema: { type: 'string', examples: ['00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'] },
}
