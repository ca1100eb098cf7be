import { createHmac } from 'node:crypto'
import { type ContactType, contactKinds } from '../contacts/contact.ts'
import { contactInReason } from '../contacts/names-contact.ts'
import { singleLine } from '../requests/fields.ts'

/** Why a contact gets nothing. All but `manual` come from what a provider answered or reported. */
export const suppressionCauses = ['manual', 'bounce', 'complaint', 'opt_out'] as const
export type SuppressionCause = (typeof suppressionCauses)[number]

/** The causes that suppress a contact by themselves, unless its channel says otherwise. */
export const autoCauses = ['bounce', 'complaint', 'opt_out'] as const satisfies SuppressionCause[]
export type AutoCause = (typeof autoCauses)[number]

/**
 * What an answer or a receipt says of a contact. `bounce` of a phone: this provider can't reach it, perhaps another one can.
 * `invalid_contact`: nobody can.
 */
export const suppressingSigns = [...autoCauses, 'invalid_contact'] as const
export type SuppressingSign = (typeof suppressingSigns)[number]

/** The cause of the entry that a sign makes. */
export const causeOfSign = (sign: SuppressingSign): AutoCause =>
  sign === 'invalid_contact' ? 'bounce' : sign

/** Whether the entry that a sign makes is for its channel alone, and not for all channels of the account. */
export const isOfChannel = (sign: SuppressingSign, type: ContactType): boolean =>
  sign === 'opt_out' || (sign === 'bounce' && contactKinds[type].bounceIsOf === 'channel')

/**
 * A provider's codes after which a contact is suppressed, each with what it says. Only codes that the provider documents so: nothing
 * else suppresses anybody. Not a full mailbox, a policy, a reputation, nor a phone that is out of reach.
 */
export type SuppressingCodes = Readonly<Record<string, SuppressingSign>>

/** What a failure says about its contact; null if nothing that suppresses it. @param codes of the provider. */
export function suppressingSignOf(
  {
    providerCode,
    suppresses,
  }: { providerCode?: string | null | undefined; suppresses?: SuppressingSign | null | undefined },
  codes: SuppressingCodes = {},
): SuppressingSign | null {
  if (suppresses !== undefined) return suppresses
  return providerCode && Object.hasOwn(codes, providerCode) ? (codes[providerCode] ?? null) : null
}

/** What an operator or a client writes beside an entry. */
export const suppressionReason = singleLine(1, 500)

/** Whether the contact itself wants no more messages, so that whoever removes the entry has to say why. */
export const isByContact = (cause: SuppressionCause): boolean => cause === 'complaint' || cause === 'opt_out'

/** What is wrong with the reason for removing an entry; undefined if nothing. It goes to the audit, which never has a contact. */
export function removalFault(
  { cause, contactValue }: { cause: SuppressionCause; contactValue: string | null },
  reason: string | undefined,
): string | undefined {
  if (reason === undefined)
    return isByContact(cause)
      ? `The contact itself wants no messages (${cause}): give a reason for removing this, which the audit keeps`
      : undefined
  return contactInReason(reason, contactValue)
}

/**
 * The reasons of sends that end because their contact is suppressed. They are stored: a text, once released, must not change. What
 * an operator or a client wrote isn't in them, because it may name the contact.
 */
export const suppressedReasons: Record<SuppressionCause, string> = {
  manual: 'suppressed: the contact was put on the list of those who get nothing',
  bounce: 'suppressed: an earlier message to this contact could not be delivered, for good',
  complaint: 'suppressed: the contact complained about an earlier message',
  opt_out: 'suppressed: the contact wants no messages from this channel',
}

/** Undefined for the reasons of other failures. Why its fallback didn't send it may follow after a semicolon. */
export const causeOfReason = (reason: string): SuppressionCause | undefined =>
  suppressionCauses.find((cause) => `${reason};`.startsWith(`${suppressedReasons[cause]};`))

/** Begins the value of an entry whose contact was erased; its keyed hash follows. No valid contact begins so. */
export const erasedPrefix = 'erased:'

/** The block size of SHA-256, to which HMAC pads its key. */
const blockBytes = 64
/** One that no entry was hashed with: a reader without the pepper finds no entry of an erased contact. Such entries hold all the same. */
export const noSuppressionKey: Buffer = Buffer.alloc(2 * blockBytes)

/**
 * The key of the hashes of erased contacts, as HMAC's inner and outer key: SQL, which has only SHA-256, computes the hash with them
 * (`erasedValue` in db/claim-rule.ts). Derived, so that the pepper itself never leaves the process.
 */
export function suppressionKey(pepper: string): Buffer {
  const key = Buffer.alloc(blockBytes)
  createHmac('sha256', pepper).update('suppressions').digest().copy(key)
  return Buffer.concat([key.map((byte) => byte ^ 0x36), key.map((byte) => byte ^ 0x5c)])
}
