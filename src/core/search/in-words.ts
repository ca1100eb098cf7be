import { isContactType, maskContact, parseStoredContact } from '../contacts/contact.ts'
import { explainUnknownId, type UnknownIdFacts } from '../requests/request-id.ts'
import { type PastedKindName, pastedKinds } from './recognise.ts'

/** One kind of identifier in a text, and its matches. */
interface Looked {
  kind: PastedKindName
  values: readonly string[]
  targets: readonly unknown[]
}

interface Found {
  looked: readonly Looked[]
  localNumbers: readonly string[]
}

const shownValues = 5

/** Contacts are masked; the reader still has the pasted text. */
function withValues({ kind, values }: Looked): string {
  const isGuess = kind === 'reference' || kind === 'name' || kind === 'possibleMessageId'
  if (isGuess) return pastedKinds[kind].called
  const shown = values.slice(0, shownValues).map((value) => {
    const contact = kind === 'messageId' ? undefined : parseStoredContact(value)
    return contact ? maskContact(contact) : value
  })
  const more = values.length > shownValues ? ` and ${values.length - shownValues} more` : ''
  return `${pastedKinds[kind].called} ${shown.join(', ')}${more}`
}

/** Names the kinds for which something was found. */
export const recognisedWords = (looked: readonly Looked[]): string =>
  `Recognised: ${looked
    .filter(({ targets }) => targets.length > 0)
    .map(withValues)
    .join('; ')}.`

/** The kinds without a match, for people; undefined if there are none. */
export function noMatchWords(looked: readonly Looked[]): string | undefined {
  const unmatched = looked.filter(({ targets }) => targets.length === 0)
  return unmatched.length === 0
    ? undefined
    : `No match for: ${[...new Set(unmatched.map(withValues))].join('; ')}.`
}

const ofIds: readonly PastedKindName[] = ['requestId', 'id', 'namedId']

/** Why a text leads to nothing, in sentences, and where to look next. */
export function explainNothing(
  pasted: string,
  { looked, localNumbers }: Found,
  facts: UnknownIdFacts,
): ReturnType<typeof explainUnknownId> {
  const contacts = looked.filter(({ kind }) => isContactType(kind))
  const hasId = looked.some(({ kind }) => ofIds.includes(kind))
  const isOfContact = !hasId && (contacts.length > 0 || localNumbers.length > 0)
  return isOfContact
    ? { why: contactWords(localNumbers, contacts.length), next: [] }
    : explainUnknownId(pasted, facts)
}

function contactWords(localNumbers: readonly string[], contacts: number): string {
  if (contacts > 0)
    return 'No send found. No account has sent this contact anything, or has it on its suppression list.'
  return `${localNumbers[0]} has no country code. Paste it with the country code, such as +49 151 12345678.`
}
