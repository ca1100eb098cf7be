import { z } from 'zod'
import { noFields } from '../../core/callbacks/endpoint-request.ts'
import { moment } from '../../core/requests/fields.ts'

/** The schemas that the OpenAPI document has by a name. */
export const namedSchemas = z.registry<{ id: string }>()

export function named<Schema extends z.ZodType>(id: string, schema: Schema): Schema {
  namedSchemas.add(schema, { id })
  return schema
}

// The fields of answers. Objects of answers are not strict, because fields may be added.

export const text = (description: string) => z.string().describe(description)
export const uuid = (description: string) => z.string().meta({ format: 'uuid', description })
/** A time as the code of the answer has it: as text, or as a Date that becomes one. */
export const timeText = (description: string) => moment.describe(description)
export const time = (description: string) => z.date().describe(description)
export const count = (description: string) => z.int().min(0).describe(description)

/** Fields of an answer that names its request. */
export const ofRequest = { requestId: uuid('The id of this request.') }

/** A page of a list. @param items its name in the answer. @param item the schema of one. */
export function listOf<Items extends string, Item extends z.ZodType>(
  items: Items,
  item: Item,
  order = 'oldest first',
) {
  const list = { [items]: z.array(item).describe(`The ${items} of the page, ${order}.`) }
  return z.object({
    ...ofRequest,
    ...(list as Record<Items, z.ZodArray<Item>>),
    next: text('The value of `after` for the next page. Null if there is none.').nullable(),
  })
}

/** Ends the description of a route that counts as a send. */
export const countsAsSend = 'Counts for the rate limit as a send.'

/** The body of a route that needs none. */
export const noBody = {
  schema: named('NoFields', noFields),
  isOptional: true,
  examples: { none: { summary: 'No body, or this', value: {} } },
  faults: { surplus: { summary: 'The body is not empty', value: { a: 1 } } },
} as const
