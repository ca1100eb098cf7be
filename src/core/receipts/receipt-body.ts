import { z } from 'zod'
import { characters, choice, optional, string } from '../requests/fields.ts'
import { parseMoment } from '../sends/send-at.ts'
import type { DeliveryState } from './receipt.ts'

const maxPerRequest = 100
const aMoment = z
  .string()
  .meta({ format: 'date-time' })
  .refine((text) => parseMoment(text) !== undefined, 'has to be a time such as 2026-11-21T14:00:00Z')
const aCode = z.string().regex(/^[\w.:-]{1,64}$/, 'has to be 1 to 64 letters, digits or _ . : -')

/** A receipt in this service's own form, in which an operator's own server sends it. */
export const receiptBody = z
  .strictObject({
    requestId: string.describe('The `requestId` that came with the message.'),
    status: choice<DeliveryState>('What became of the message', {
      delivered: 'the contact got it',
      read: 'the contact read it',
      undelivered: 'it could not be delivered',
    }),
    at: optional(aMoment.describe('When, by your clock.')),
    code: optional(aCode.describe('Your code of the failure.')),
    reason: optional(characters(0, 500).describe('Why it could not be delivered.')),
  })
  .describe('What became of a message.')

export const receiptList = z.array(receiptBody).min(1, 'is empty').max(maxPerRequest)
