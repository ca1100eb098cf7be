import { emailPattern, maxEmailLength, parseEmail } from './email.ts'
import { parsePhone, phonePattern } from './phone.ts'

/** All that the service knows of a kind of contact: code that needs more of one kind has a table of all kinds of its own. */
interface ContactKind {
  /** With its article, for messages. */
  called: string
  /** What a client is told of a value that is none. */
  wanted: string
  /** What the normalised form is like, for the OpenAPI document. */
  normalised: string
  /** A value that no other kind takes. */
  example: string
  /** The normalised value, or undefined where it is none (docs/reference/api.md#contact). */
  parse(value: string): string | undefined
  /** What `parse` takes, as a pattern, for those who check before they send. */
  pattern: string
  maxLength?: number
  /** Of a normalised value: enough to recognise a contact one already knows, and too little to reach one. */
  mask(value: string): string
}

export const contactKinds = {
  phone: {
    called: 'a phone number',
    wanted: 'a phone number (7 to 15 digits, with the country code)',
    normalised: '`+digits`',
    example: '+4915112345678',
    parse: parsePhone,
    pattern: phonePattern,
    // `+15*******01`
    mask: (value) => value.slice(0, 3) + '*'.repeat(Math.max(value.length - 5, 0)) + value.slice(-2),
  },
  email: {
    called: 'an e-mail address',
    wanted: 'an e-mail address',
    normalised: 'an address with its domain in lower case',
    example: 'ann@example.com',
    parse: parseEmail,
    pattern: emailPattern,
    maxLength: maxEmailLength,
    // `a***@example.com`
    mask: (value) => `${value.slice(0, 1)}***${value.slice(value.lastIndexOf('@'))}`,
  },
} satisfies Record<string, ContactKind>

export type ContactType = keyof typeof contactKinds
export const contactTypes = Object.keys(contactKinds) as ContactType[]
/** Of a contact that is sent without a type. */
export const defaultContactType = 'phone' satisfies ContactType

export interface Contact {
  type: ContactType
  /** Normalised. */
  value: string
  name?: string | undefined
}

/** In place of the value of a contact that was erased: no contact is written so. */
export const erasedContactValue = 'erased'

/** `a phone number or an e-mail address` */
export const anyContact = contactTypes.map((type) => contactKinds[type].called).join(' or ')

/** A contact of any kind, told by its value alone; undefined where it is of none. */
export function parseContact(text: string): Pick<Contact, 'type' | 'value'> | undefined {
  for (const type of contactTypes) {
    const value = contactKinds[type].parse(text)
    if (value !== undefined) return { type, value }
  }
  return undefined
}

/** Enough to recognise a contact one already knows, and too little to reach one. */
export function maskContact({ type, value }: Pick<Contact, 'type' | 'value'>): string {
  return value === erasedContactValue ? value : contactKinds[type].mask(value)
}
