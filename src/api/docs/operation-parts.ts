import type { JsonSchema } from '../openapi/json-schema.ts'
import type { Operation } from '../openapi/operation.ts'
import { basePlaceholder } from './base-url.ts'
import type { Parameter, PlacedOperation } from './operations.ts'
import type { SampleRequest } from './samples.ts'

export interface Content {
  schema?: JsonSchema
  example?: unknown
  examples?: Record<string, { summary: string; value: unknown }>
}

export const examplesOf = ({ example, examples }: Content) =>
  examples ? Object.values(examples) : example === undefined ? [] : [{ summary: 'Example', value: example }]

export const parametersOf = ({ parameters = [] }: Operation) => parameters as Parameter[]

export const bodyOf = ({ requestBody }: Operation) =>
  requestBody as { description?: string; content: Record<string, Content> } | undefined

/** The request of the samples; undefined for a callback. */
export function sampleOf({ method, path, operation }: PlacedOperation): SampleRequest | undefined {
  if (path === undefined) return undefined
  const parameters = parametersOf(operation)
  const json = bodyOf(operation)?.content['application/json']
  const body = json && examplesOf(json)[0]?.value
  const example = (name: string) => parameters.find((one) => one.name === name)?.example ?? name
  const query = parameters
    .filter((one) => one.in === 'query' && one.required)
    .map(({ name, schema }) => `${name}=${(schema.examples as string[] | undefined)?.[0] ?? name}`)
  const takesKey = parameters.some(({ name }) => name === 'Idempotency-Key')
  return {
    method,
    url:
      basePlaceholder +
      path.replaceAll(/\{(\w+)\}/g, (_, name: string) => example(name)) +
      (query.length > 0 ? `?${query.join('&')}` : ''),
    hasKey: (operation['x-permissions'] ?? []).length > 0,
    headers: takesKey ? { 'Idempotency-Key': 'order-4711-shipped' } : {},
    ...(body !== undefined && { body }),
  }
}
