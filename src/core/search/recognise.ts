import { type ContactType, contactKinds, contactTypes, foldContactValue } from '../contacts/contact.ts'
import { localNumbersIn, possiblePhonesIn } from '../contacts/in-text.ts'
import { type FoundIds, findIds } from '../requests/request-id.ts'
import { codesIn } from './codes.ts'
import { messageIdsIn, possibleMessageIdsIn, referencesIn } from './words.ts'

/** A pasted text is read up to this length: a long log line with its stack trace is shorter. */
const longestRead = 65_536
const longestName = 500
const maxOfKind = 20

interface PastedKind {
  /** For "it looks like …", and "no … was found". */
  called: string
  find(text: string, isKnownCode: (code: string) => boolean): string[]
}

const idsOf = (group: keyof FoundIds) => (text: string) => findIds(text)[group]

/** The values once each, as they are compared: in the spelling that comes first. */
function distinct(values: readonly string[]): string[] {
  const byFolded = new Map<string, string>()
  for (const value of values) {
    const folded = foldContactValue(value)
    if (!byFolded.has(folded)) byFolded.set(folded, value)
  }
  return [...byFolded.values()]
}

const contacts = Object.fromEntries(
  contactTypes.map((type): [ContactType, PastedKind] => {
    const { called, findIn } = contactKinds[type]
    return [type, { called, find: (text: string) => distinct(findIn(text)) }]
  }),
) as Record<ContactType, PastedKind>

/**
 * The kinds of identifiers in a pasted text, the surest first: a match of one kind makes those after it superfluous. `localNumber` and
 * `code` need no look-up.
 */
export const pastedKinds = {
  requestId: { called: 'a requestId', find: idsOf('requestId') },
  id: { called: 'an id', find: idsOf('unnamed') },
  namedId: { called: 'an id of something else than a send', find: idsOf('named') },
  messageId: { called: "a provider's message id", find: messageIdsIn },
  ...contacts,
  reference: { called: 'a reference', find: referencesIn },
  name: { called: 'the name of a channel or an account', find: (text) => [text.slice(0, longestName)] },
  code: { called: "a provider's code", find: codesIn },
  localNumber: { called: 'a phone number without its country code', find: localNumbersIn },
  possiblePhone: { called: contactKinds.phone.called, find: possiblePhonesIn },
  possibleMessageId: { called: "a provider's message id", find: possibleMessageIdsIn },
} satisfies Record<string, PastedKind>

export type PastedKindName = keyof typeof pastedKinds
export type Recognised = Record<PastedKindName, string[]>

const names = Object.keys(pastedKinds) as PastedKindName[]

/** Recognises what a pasted text may hold. Pure: whether it is there, `lookUp` says (db/look-up). */
export function recognise(pasted: string, isKnownCode: (code: string) => boolean): Recognised {
  const text = pasted.slice(0, longestRead).toWellFormed().replaceAll('\0', ' ').trim()
  const found = names.map((name) => [
    name,
    text === '' ? [] : pastedKinds[name].find(text, isKnownCode).slice(0, maxOfKind),
  ])
  return Object.fromEntries(found)
}
