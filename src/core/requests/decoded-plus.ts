import { parseStoredContact } from '../contacts/contact.ts'
import { parseMoment } from '../sends/send-at.ts'

// In a query, a `+` that wasn't written as `%2B` arrives as a space.

/** A contact of a query or a filter, as it may be stored. */
export const contactInQuery = (text: string): ReturnType<typeof parseStoredContact> =>
  parseStoredContact(
    text.includes('@') ? text.replace(/ (?=[^@]*@)/g, '+') : text.replace(/^(\(?) (?=\(?[1-9])/, '$1+'),
  )

/** A time with its offset, of a query or a filter. */
export const momentInQuery = (text: string): Date | undefined =>
  parseMoment(text.replace(/ (?=\d\d:\d\d$)/, '+'))
