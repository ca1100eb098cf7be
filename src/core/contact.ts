import { parseEmail } from './email.ts'
import { parsePhone } from './phone.ts'

export const contactTypes = ['phone', 'email'] as const
export type ContactType = (typeof contactTypes)[number]

export interface Contact {
  type: ContactType
  /** Normalised: `+digits`, or an address with its domain in lower case. */
  value: string
  name?: string | undefined
}

/** In place of the value of a contact that was erased: no number and no address is written so. */
export const erasedContactValue = 'erased'

/** The normalised value, or undefined where it is no phone number or e-mail address (docs/reference/api.md#contact). */
export function parseContactValue(type: ContactType, value: string): string | undefined {
  return type === 'phone' ? parsePhone(value) : parseEmail(value)
}

/** Enough to recognise a contact one already knows, and too little to reach one: `+15*******01`, `a***@example.com`. */
export function maskContact(contact: Pick<Contact, 'type' | 'value'>): string {
  const { type, value } = contact
  if (value === erasedContactValue) return value
  if (type === 'phone') return value.slice(0, 3) + '*'.repeat(Math.max(value.length - 5, 0)) + value.slice(-2)
  const at = value.lastIndexOf('@')
  return `${value.slice(0, 1)}***${value.slice(at)}`
}
