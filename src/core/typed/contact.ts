import { type Contact, contactKinds, contactTypes } from '../contacts/contact.ts'
import { contact as contactSchema } from '../sends/send-request.ts'
import { TypedFault } from './typed-fault.ts'

/** A contact to send to, read as at the accept; its kind is known by its form. */
export function typedContact(text: string): Contact {
  const type = contactTypes.find((kind) => contactKinds[kind].looksLike(text))
  const { data, error } = contactSchema.safeParse({ value: text, type })
  if (data) return data
  throw new TypedFault(`${error.issues.map(({ message }) => message).join('; ')}.`)
}
