import { z } from 'zod'
import {
  conditionForm,
  costForm,
  fieldForm,
  headerNameForm,
  locationsForm,
  partsForm,
  textForm,
  wordsForm,
} from './parts.ts'

/** The parts that a signature covers. `bodyHash` is the SHA-256 of the body, as bytes. */
const signedForm = z
  .array(
    z.union(
      [
        z.enum(['body', 'bodyHash', 'url', 'fields']),
        z.strictObject({ header: headerNameForm }),
        z.strictObject({ at: z.string() }),
        z.strictObject({ text: textForm }),
      ],
      { error: 'has to be body, bodyHash, url, fields, {header: NAME}, {at: POINTER} or {text: TEXT}' },
    ),
  )
  .min(1)

const freshForm = z
  .strictObject({ at: locationsForm, seconds: z.number().int().min(1).max(90_000) })
  .describe('A time in seconds or milliseconds, or as a date, that may be this old.')

const signature = {
  key: fieldForm,
  at: locationsForm.describe('Where the signature is.'),
  encoding: z.enum(['hex', 'base64']),
  over: signedForm,
  fresh: freshForm.optional(),
}

const proofForm = z.xor(
  [
    z.strictObject({
      hmac: z.strictObject({
        ...signature,
        hash: z.enum(['sha1', 'sha256', 'sha512']),
        prefix: z.string().max(20).optional(),
      }),
    }),
    z.strictObject({ ed25519: z.strictObject(signature) }),
    z.strictObject({ ecdsa: z.strictObject({ ...signature, hash: z.literal('sha256') }) }),
    z.strictObject({
      standardWebhooks: z.strictObject({ key: fieldForm, prefix: z.enum(['webhook-', 'svix-']) }),
    }),
    z.strictObject({
      jwt: z.strictObject({ key: fieldForm, header: headerNameForm, bodyHash: z.string().min(1) }),
    }),
    z.strictObject({ basic: z.strictObject({ user: fieldForm, password: fieldForm }) }),
    z.strictObject({
      header: z.strictObject({ name: headerNameForm, prefix: textForm.optional(), value: fieldForm }),
    }),
    z.strictObject({ token: fieldForm }),
  ],
  {
    error:
      'has to be one of hmac, ed25519, ecdsa, standardWebhooks, jwt, basic, header and token, with its fields',
  },
)
export type ProofForm = z.output<typeof proofForm>

const words = z.array(z.coerce.string().max(100)).min(1)

export const receiptsForm = z
  .strictObject({
    proof: proofForm.describe("How a request is proven to be the vendor's."),
    forEach: z.boolean().default(true).describe('Whether the vendor sends at least one for each message.'),
    by: z.enum(['POST', 'GET']).default('POST'),
    body: z.enum(['json', 'form', 'query']).default('json').describe('What has the fields.'),
    jsonIn: z.string().optional().describe('The field of the form that has JSON.'),
    list: z.string().optional().describe('The pointer to the list of receipts; "" for the body itself.'),
    inner: z
      .string()
      .optional()
      .describe("The pointer to a list within each item, whose items have the item's fields, too."),
    request: locationsForm
      .optional()
      .describe(
        'Where our requestId comes back; {query: requestId} of `receiptsUrl`. Without it, the send is found by `id`.',
      ),
    id: locationsForm.optional().describe("The vendor's id of the message, not of the event."),
    status: locationsForm.describe('The first of these places whose value is known counts.'),
    statuses: z
      .strictObject({
        accepted: words.optional(),
        delivered: words.optional(),
        read: words.optional(),
        undelivered: words.optional(),
        complained: words.optional(),
      })
      .describe("The vendor's words, by what they mean."),
    ignored: words.optional().describe('Words that are known and mean nothing here, such as those of opens.'),
    except: z
      .array(
        conditionForm.extend({ status: z.string(), means: z.enum(['accepted', 'undelivered', 'delivered']) }),
      )
      .optional()
      .describe('Statuses that mean something else where a condition holds.'),
    at: locationsForm.optional().describe("The time by the vendor's clock."),
    code: locationsForm.optional(),
    cost: costForm.optional().describe('The price of the message.'),
    parts: partsForm.optional(),
    codes: z
      .record(z.string().max(64), wordsForm)
      .optional()
      .describe('Codes of receipts alone, with their meanings.'),
  })
  .describe('How receipts come, are proven and are read.')

export type ReceiptsForm = z.output<typeof receiptsForm>
