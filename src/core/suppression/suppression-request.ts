import { z } from 'zod'
import { anyContact, contactIssue, contactKinds, contactTypes, parseContact } from '../contacts/contact.ts'
import { sentence } from '../explanation/phrases.ts'
import { optional, string } from '../requests/fields.ts'
import { suppressionReason } from './suppression.ts'

const contact = z
  .strictObject({
    value: string.describe(`${sentence(anyContact)} It is normalised as in a send.`),
    type: optional(z.enum(contactTypes).describe('The kind of `value`. Without it, it is recognised.')),
  })
  .transform(({ type, value }, context) => {
    const given = type ? contactKinds[type].parse(value) : undefined
    const parsed = type ? given !== undefined && { type, value: given } : parseContact(value)
    if (parsed) return parsed
    const message = type ? contactKinds[type].issue(value) : contactIssue(value)
    context.addIssue({ code: 'custom', path: ['value'], message })
    return z.NEVER
  })
  .describe('The contact to suppress.')

/** The body of `POST /v1/suppressions`. Without a type, the contact is recognised by its value. */
export const suppressionSchema = z
  .strictObject({
    contact,
    channelId: optional(string.describe('For this channel alone. Without it, for all of the account.')),
    reason: optional(suppressionReason.describe('Why, for those who read the list.')),
  })
  .describe('A contact to suppress.')
