import { type JsonSchema, ref } from './json-schema.ts'

export const text = (description: string, more: JsonSchema = {}): JsonSchema => ({
  type: 'string',
  description,
  ...more,
})
export const textOrNull = (description: string): JsonSchema => ({ type: ['string', 'null'], description })
export const timeOrNull = (description: string): JsonSchema => ({
  type: ['string', 'null'],
  format: 'date-time',
  description,
})
export const uuid = (description: string) => text(description, { format: 'uuid' })

/** An object with all of these fields. Not strict, because fields may be added. */
export const whole = (properties: Record<string, JsonSchema>, description: string): JsonSchema => ({
  type: 'object',
  description,
  properties,
  required: Object.keys(properties),
})

/** Fields of an answer that names its request. */
export const ofRequest = { requestId: uuid('The id of this request.') }

/** A page of a list. @param items its name in the answer. @param schema of one item. */
export const listOf = (items: string, schema: string, order = 'oldest first'): JsonSchema => ({
  type: 'object',
  properties: {
    ...ofRequest,
    [items]: { type: 'array', items: ref(schema), description: `The ${items} of the page, ${order}.` },
    next: textOrNull('The value of `after` for the next page. Null if there is none.'),
  },
  required: ['requestId', items, 'next'],
})
