import { z } from 'zod'
import { contact, reference, sendAt } from '../sends/send-request.ts'
import { besideOtherIssues, optional, string } from './fields.ts'
import { readCursor } from './list-query.ts'
import { afterParameter } from './query.ts'

const after = afterParameter(readCursor)

/** The body of `POST /v1/messages/cancel` (docs/reference/api.md#cancel-many). */
export const cancelRequest = z
  .strictObject({
    reference: optional(reference.describe('Cancels what waits with this `reference`.')),
    flowId: optional(string.describe('Cancels what waits in this flow.')),
    after: optional(after.schema.describe('The `next` of the answer before.')),
  })
  .superRefine(({ reference, flowId }, context) => {
    if ((reference ?? undefined) === undefined || (flowId ?? undefined) === undefined) return
    context.addIssue({ code: 'custom', message: oneOfBoth })
  }, besideOtherIssues)
  .transform(({ reference, flowId, after }, context) => {
    if (reference !== undefined) return { by: { reference }, after }
    if (flowId !== undefined) return { by: { flowId }, after }
    context.addIssue({ code: 'custom', message: oneOfBoth })
    return z.NEVER
  })
  .describe('Either `reference` or `flowId`.')

const oneOfBoth = 'send either reference or flowId'

/** The body of `PATCH /v1/messages/:requestId` (docs/reference/api.md#move). */
export const moveRequest = z
  .strictObject({
    sendAt: optional(
      sendAt.describe(
        'The new time: with an offset, as in RFC 3339. It is never sent earlier. At most 60 s ago, which means now.',
      ),
    ),
    contact: optional(
      contact.describe('The new recipient, as a whole: of a type that the channel takes for this message.'),
    ),
  })
  .refine(
    ({ sendAt, contact }) => sendAt !== undefined || contact !== undefined,
    'give sendAt or contact, or both',
  )
  .meta({ minProperties: 1, description: 'What to change: one at least.' })
