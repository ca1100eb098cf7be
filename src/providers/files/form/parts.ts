import { z } from 'zod'
import { isStorable } from '../../../core/requests/characters.ts'

export const textForm = z
  .string()
  .min(1)
  .max(1000)
  .refine(isStorable, 'contains NUL or half a surrogate pair')
export const wordsForm = textForm.max(300)
export const nameForm = z
  .string()
  .regex(/^[a-z][a-z0-9-]{1,39}$/, 'has to be 2 to 40 small letters, digits and hyphens')

/** The name of a field of the config. None that every object has: such a field would be found where it isn't given. */
export const fieldForm = z
  .string()
  .min(1)
  .max(40)
  .refine((name) => !(name in Object.prototype), 'is a reserved name: use another one')

/** The name of a header: no message can change it. */
export const headerNameForm = z
  .string()
  .regex(/^[A-Za-z][A-Za-z0-9-]{0,63}$/, 'has to be letters, digits and hyphens')

const pointerForm = z
  .string()
  .regex(/^(\/([^~/]|~[01])*)*$/, 'has to be a JSON pointer such as /data/id')
  .max(200)

/** A place in an answer or receipt. */
export const locationForm = z.union(
  [
    pointerForm,
    z.strictObject({ header: headerNameForm }),
    z.strictObject({ query: z.string().min(1).max(100) }),
  ],
  { error: 'has to be a JSON pointer such as /data/id, {header: NAME} or {query: NAME}' },
)
/** The first of these places that has a value counts. */
export const locationsForm = z.preprocess(
  (given) => (Array.isArray(given) ? given : [given]),
  z.array(locationForm).min(1).max(10),
)
export type Location = z.output<typeof locationForm>

const valueForm = z
  .union([z.string(), z.number(), z.boolean()], { error: 'has to be a text, a number, true or false' })
  .transform(String)

/** Whether the value at a place is one of a list, or none of it. A place without a value meets no condition. */
export const conditionForm = z
  .strictObject({
    at: locationsForm,
    in: z.array(valueForm).min(1).optional(),
    notIn: z.array(valueForm).min(1).optional(),
  })
  .refine(({ in: these, notIn }) => (these === undefined) !== (notIn === undefined), 'give in or notIn')
export type Condition = z.output<typeof conditionForm>

/** What a vendor says that a message costs. */
export const costForm = z
  .strictObject({
    amount: locationsForm
      .optional()
      .describe('The price of the whole message. Its currency may stand beside it, as in `KES 0.8000`.'),
    amountOfPart: locationsForm
      .optional()
      .describe('The price of each part, in place of `amount`; needs `parts`.'),
    currency: z
      .union([z.string().regex(/^[A-Z]{3}$/), locationsForm], {
        error: 'has to be a currency such as USD, or the place of one',
      })
      .optional()
      .describe('The currency, or its place.'),
  })
  .refine(({ amount, amountOfPart }) => (amount === undefined) !== (amountOfPart === undefined), {
    error: 'give amount or amountOfPart',
  })
export const partsForm = locationsForm.describe('How many parts, or segments, the vendor bills.')
export type CostForm = z.output<typeof costForm>

const meanings = z.record(z.string().max(64), wordsForm)

/** Codes and their meanings, by what they decide. */
export const outcomesForm = z.strictObject({
  rejected: z
    .strictObject({
      recipient: meanings.optional(),
      message: meanings.optional(),
      sender: meanings.optional(),
    })
    .optional(),
  retry_later: z
    .strictObject({
      recipient: meanings.optional(),
      message: meanings.optional(),
      sender: meanings.optional(),
      provider: meanings.optional(),
    })
    .optional(),
  channel_refused: z.strictObject({ sender: meanings }).optional(),
  uncertain: z.strictObject({ provider: meanings.optional(), message: meanings.optional() }).optional(),
})
export type OutcomesForm = z.output<typeof outcomesForm>
