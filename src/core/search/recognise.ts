import { type FoundIds, findIds } from '../requests/request-id.ts'
import { codesIn } from './codes.ts'
import { addressesIn, localNumbersIn, phonesIn, possiblePhonesIn } from './contacts.ts'
import { messageIdsIn, possibleMessageIdsIn, referencesIn } from './words.ts'

/** What people paste is read up to this length: a long log line with its stack trace is shorter. */
const longestRead = 65_536
const longestName = 500
const maxOfKind = 20

interface PastedKind {
  /** For "it looks like …", and "no … was found". */
  called: string
  find(text: string): string[]
}

const idsOf = (group: keyof FoundIds) => (text: string) => findIds(text)[group]

/**
 * What a pasted text may hold, the surest first: what is found of one kind makes those after it superfluous. `localNumber` and
 * `code` need no look-up.
 */
export const pastedKinds = {
  requestId: { called: 'a requestId', find: idsOf('requestId') },
  id: { called: 'an id', find: idsOf('unnamed') },
  namedId: { called: 'an id of something else than a send', find: idsOf('named') },
  messageId: { called: "a provider's message id", find: messageIdsIn },
  phone: { called: 'a phone number', find: phonesIn },
  email: { called: 'an e-mail address', find: addressesIn },
  reference: { called: 'a reference', find: referencesIn },
  name: { called: 'the name of a channel or an account', find: (text) => [text.slice(0, longestName)] },
  code: { called: "a provider's code", find: codesIn },
  localNumber: { called: 'a phone number without its country code', find: localNumbersIn },
  possiblePhone: { called: 'a phone number', find: possiblePhonesIn },
  possibleMessageId: { called: "a provider's message id", find: possibleMessageIdsIn },
} satisfies Record<string, PastedKind>

export type PastedKindName = keyof typeof pastedKinds
export type Recognised = Record<PastedKindName, string[]>

const names = Object.keys(pastedKinds) as PastedKindName[]

/** Recognises what a pasted text may hold. Pure: whether it is there, `lookUp` says (db/look-up). */
export function recognise(pasted: string): Recognised {
  const text = pasted.slice(0, longestRead).toWellFormed().replaceAll('\0', ' ').trim()
  const found = names.map((name) => [
    name,
    text === '' ? [] : pastedKinds[name].find(text).slice(0, maxOfKind),
  ])
  return Object.fromEntries(found)
}
