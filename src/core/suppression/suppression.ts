import { createHmac } from 'node:crypto'
import { anyOf } from '../any-of.ts'
import { type ContactType, contactKinds } from '../contacts/contact.ts'
import { contactInReason } from '../contacts/names-contact.ts'
import { singleLine } from '../requests/fields.ts'

/** A cause of a suppression. All that differs between the causes is here: other code reads it, and lists no causes. */
interface Cause {
  /** For lists of suppressions. */
  called: string
  /** Continues the name of the cause, in the document of the API. */
  documented: string
  /** Continues a sentence of support on a send that ended because of it. */
  because: string
  /**
   * The reason of a suppressed send. It is stored: a text, once released, must not change. An operator's or a client's words aren't in it,
   * because they may name the contact.
   */
  storedReason: `suppressed: ${string}`
  /** Whether the contact itself wants no more messages, so that whoever removes the entry has to say why. */
  isByContact: boolean
  /** Only if a provider says it: then it suppresses a contact by itself, unless the channel says otherwise. */
  auto?: {
    /** The event, with its article. */
    event: string
    /** For which channels. `by kind`: as `bounceIsOf` of the kind of contact has it. */
    isOf: 'channel' | 'account' | 'by kind'
    /** Only if vendors act on senders beyond a share of their messages: a channel beyond it is reported. */
    acceptableShare?: number
  }
}

export const causes = {
  manual: {
    called: 'by hand',
    documented: 'by you or an operator',
    because: 'somebody has put it on the suppression list',
    storedReason: 'suppressed: the contact was put on the list of those who get nothing',
    isByContact: false,
  },
  bounce: {
    called: 'hard bounce',
    documented: 'after a message that could not be delivered for good',
    because: 'an earlier message could not be delivered, for good',
    storedReason: 'suppressed: an earlier message to this contact could not be delivered, for good',
    isByContact: false,
    auto: { event: 'a bounce', isOf: 'by kind', acceptableShare: 0.05 },
  },
  complaint: {
    called: 'complaint',
    documented: 'after the contact complained',
    because: 'it complained about an earlier message',
    storedReason: 'suppressed: the contact complained about an earlier message',
    isByContact: true,
    auto: { event: 'a complaint', isOf: 'account', acceptableShare: 0.001 },
  },
  opt_out: {
    called: 'opt-out',
    documented: 'after the contact refused messages from this channel',
    because: 'it wants no messages from this channel',
    storedReason: 'suppressed: the contact wants no messages from this channel',
    isByContact: true,
    auto: { event: 'an opt-out', isOf: 'channel' },
  },
} satisfies Record<string, Cause>

export type SuppressionCause = keyof typeof causes
export const suppressionCauses = Object.keys(causes) as SuppressionCause[]

/** The causes that suppress a contact by themselves, unless its channel says otherwise. */
export type AutoCause = {
  [Name in SuppressionCause]: (typeof causes)[Name] extends { auto: object } ? Name : never
}[SuppressionCause]
export const autoCauses = suppressionCauses.filter((cause): cause is AutoCause => 'auto' in causes[cause])
const autoOf = (cause: AutoCause): NonNullable<Cause['auto']> => causes[cause].auto

/** The words of a list. A newer release may have stored a cause that is unknown here. */
export const calledOf = (cause: SuppressionCause): string =>
  Object.hasOwn(causes, cause) ? causes[cause].called : cause

export const isByContact = (cause: SuppressionCause): boolean =>
  Object.hasOwn(causes, cause) && causes[cause].isByContact

/** `a bounce, a complaint or an opt-out` */
export const anyEvent = anyOf(autoCauses.map((cause) => autoOf(cause).event))
/** `a complaint or an opt-out` */
export const anyEventByContact = anyOf(
  autoCauses.filter((cause) => causes[cause].isByContact).map((cause) => autoOf(cause).event),
)

/** The causes of which a channel may have too many, with the share of its messages that vendors accept. */
export const acceptableShares = autoCauses.flatMap((cause) => {
  const { acceptableShare } = autoOf(cause)
  return acceptableShare === undefined ? [] : [{ cause, acceptableShare }]
})

/**
 * The sign in an answer or a receipt that its contact is to be suppressed. `bounce` of a phone: this provider can't reach it,
 * perhaps another one can. `invalid_contact`: nobody can.
 */
export type SuppressingSign = AutoCause | 'invalid_contact'
export const suppressingSigns: readonly SuppressingSign[] = [...autoCauses, 'invalid_contact']

/** The cause of the entry that a sign makes. */
export const causeOfSign = (sign: SuppressingSign): AutoCause =>
  sign === 'invalid_contact' ? 'bounce' : sign

/** For which channels the entry is that a sign makes. */
export const scopeOf = (sign: SuppressingSign) => (sign === 'invalid_contact' ? 'account' : autoOf(sign).isOf)

/** Whether the entry that a sign makes is for its channel alone, and not for all channels of the account. */
export function isOfChannel(sign: SuppressingSign, type: ContactType): boolean {
  const scope = scopeOf(sign)
  return (scope === 'by kind' ? contactKinds[type].bounceIsOf : scope) === 'channel'
}

/**
 * A provider's codes after which a contact is suppressed, each with what it says. Only codes that the provider documents so: nothing
 * else suppresses anybody. Not a full mailbox, a policy, a reputation, nor a phone that is out of reach.
 */
export type SuppressingCodes = Readonly<Record<string, SuppressingSign>>

/** The sign in a failure that suppresses its contact; null if there is none. @param codes of the provider. */
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

/** The note of an operator or a client on an entry. */
export const suppressionReason = singleLine(1, 500)

/** The fault of the reason for removing an entry; undefined if it has none. The reason goes to the audit, which never has a contact. */
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

/** Undefined for the reasons of other failures. Why its fallback didn't send it may follow after a semicolon. */
export const causeOfReason = (reason: string): SuppressionCause | undefined =>
  suppressionCauses.find((cause) => `${reason};`.startsWith(`${causes[cause].storedReason};`))

/** Begins the value of an entry whose contact was erased; its keyed hash follows. No valid contact begins so. */
export const erasedPrefix = 'erased:'

/** The block size of SHA-256, to which HMAC pads its key. */
const blockBytes = 64
/** A key that no entry was hashed with: a reader without the pepper finds no entry of an erased contact. The entries stay in force. */
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
