import { anyOf } from '../any-of.ts'
import { countriesOf } from './country.ts'
import { emailPattern, maxEmailLength, parseEmail } from './email.ts'
import { addressesIn, phonesIn } from './in-text.ts'
import { parsePhone, parseStoredPhone, phoneIssue, phonePattern } from './phone.ts'

/** A kind of contact. All that differs between the kinds is here: other code reads it, and lists no kinds. */
interface ContactKind {
  /** Its name with the article, for messages. */
  called: string
  /** Why `parse` doesn't take the value, without the value. */
  issue(value: string): string
  /** The normalised form, for the OpenAPI document. */
  normalised: string
  /** A value that is valid for no other kind. */
  example: string
  /** The normalised value; undefined if the value is invalid (docs/reference/api.md#contact). */
  parse(value: string): string | undefined
  /** `parse`, but for what may be stored: also values that only earlier releases took. */
  parseStored(value: string): string | undefined
  /** Whether somebody who gives this value means this kind, although it may be invalid. */
  looksLike(value: string): boolean
  /** Whether `issue` says best why this text is no contact of any kind. The first kind that takes it does. */
  explains(text: string): boolean
  /** The values of this kind in a text that somebody pasted. */
  findIn(text: string): string[]
  /** The countries that a normalised value may be of; null for a kind that has none. */
  countriesOf: ((value: string) => readonly string[]) | null
  /** `parse` as a pattern, for clients that check before sending. */
  pattern: string
  maxLength?: number
  /**
   * Whether a provider that can't reach it says so for its own channel or for all. A number may be unknown to SMS and known to WhatsApp;
   * a mailbox is the same whoever sends to it.
   */
  bounceIsOf: 'channel' | 'account'
  /**
   * Whether a message that was delivered may still fail. A mail may bounce after a server has taken it; a failure of one of the devices
   * of a phone number says nothing of the others.
   */
  mayFailOnceDelivered: boolean
  /** Masks a normalised value: enough is left to recognise a known contact, but not to reach it. */
  mask(value: string): string
}

export const contactKinds = {
  phone: {
    called: 'a phone number',
    issue: phoneIssue,
    normalised: '`+digits`',
    example: '+4915112345678',
    parse: parsePhone,
    parseStored: parseStoredPhone,
    looksLike: (value) => parsePhone(value) !== undefined,
    explains: (text) => !text.includes('@') && /[0-9]/.test(text),
    findIn: phonesIn,
    countriesOf,
    pattern: phonePattern,
    bounceIsOf: 'channel',
    mayFailOnceDelivered: false,
    // `+15*******01`
    mask: (value) => value.slice(0, 3) + '*'.repeat(Math.max(value.length - 5, 0)) + value.slice(-2),
  },
  email: {
    called: 'an e-mail address',
    issue: () => 'has to be an e-mail address',
    normalised: 'an address with its domain in lower case',
    example: 'ann@example.com',
    parse: parseEmail,
    parseStored: parseEmail,
    looksLike: (value) => value.includes('@'),
    explains: (text) => text.includes('@'),
    findIn: addressesIn,
    countriesOf: null,
    pattern: emailPattern,
    maxLength: maxEmailLength,
    bounceIsOf: 'account',
    mayFailOnceDelivered: true,
    // `a***@example.com`
    mask: (value) => `${value.slice(0, 1)}***${value.slice(value.lastIndexOf('@'))}`,
  },
} satisfies Record<string, ContactKind>

export type ContactType = keyof typeof contactKinds
export const contactTypes = Object.keys(contactKinds) as ContactType[]
export const isContactType = (name: string): name is ContactType => Object.hasOwn(contactKinds, name)
/** The kind of a contact without a type. */
export const defaultContactType = 'phone' satisfies ContactType

export interface Contact {
  type: ContactType
  /** Normalised. */
  value: string
  name?: string | undefined
}

/**
 * A normalised value as values are compared: `Ann@example.com` and `ann@example.com` are one person. The value that is sent, shown and
 * stored keeps the case of its letters. `folded` of db/delivery/contact-rule.ts is the same in SQL.
 */
export const foldContactValue = (value: string): string => value.toLowerCase()

/** Replaces the value of an erased contact. No valid contact has this value. */
export const erasedContactValue = 'erased'

/** `a phone number or an e-mail address` */
export const anyContact = anyOf(contactTypes.map((type) => contactKinds[type].called))
/** `Whole phone number or e-mail address`, for a field where a part of a contact finds nothing. */
export const wholeContact = `Whole ${anyContact.replace(/\ban? /g, '')}`

type GivenContact = Pick<Contact, 'type' | 'value'>

const parseBy =
  (parse: 'parse' | 'parseStored') =>
  (text: string): GivenContact | undefined => {
    for (const type of contactTypes) {
      const value = contactKinds[type][parse](text)
      if (value !== undefined) return { type, value }
    }
    return undefined
  }

/** Parses a contact of any kind, recognised by its value; undefined if it is invalid. */
export const parseContact = parseBy('parse')

/** `parseContact` for those who look for what is stored, which may be a number that only earlier releases took. */
export const parseStoredContact = parseBy('parseStored')

/** Why `parseContact` doesn't take the text, without the text. */
export function contactIssue(text: string): string {
  const meant = contactTypes.find((type) => contactKinds[type].explains(text))
  return meant === undefined ? `has to be ${anyContact}` : contactKinds[meant].issue(text)
}

/** Masks a contact: enough is left to recognise a known contact, but not to reach it. */
export function maskContact({ type, value }: Pick<Contact, 'type' | 'value'>): string {
  if (value === erasedContactValue) return value
  // A newer release may have stored a type that is unknown here.
  return isContactType(type) ? contactKinds[type].mask(value) : '…'
}
