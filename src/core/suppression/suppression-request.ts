import { z } from 'zod'
import { contactIssue, contactKinds, contactTypes, parseContact } from '../contacts/contact.ts'
import { optional, string } from '../requests/fields.ts'
import { suppressionReason } from './suppression.ts'

const contact = z
  .strictObject({ value: string, type: optional(z.enum(contactTypes)) })
  .transform(({ type, value }, context) => {
    const given = type ? contactKinds[type].parse(value) : undefined
    const parsed = type ? given !== undefined && { type, value: given } : parseContact(value)
    if (parsed) return parsed
    const message = type ? contactKinds[type].issue(value) : contactIssue(value)
    context.addIssue({ code: 'custom', path: ['value'], message })
    return z.NEVER
  })

/** The body of `POST /v1/suppressions`. Without a type, the contact is recognised by its value. */
export const suppressionSchema = z.strictObject({
  contact,
  channelId: optional(string),
  reason: optional(suppressionReason),
})
