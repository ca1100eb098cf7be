import { providerMessageIdsIn } from '../receipts/provider-message-id.ts'
import { isLongerThan, isStorable } from '../requests/characters.ts'
import { findIds } from '../requests/request-id.ts'

const maxWords = 50
const longestReference = 256

/** Ids whose form says that a provider made them: Twilio's, WhatsApp's, and what stands behind the name of such an id. */
const shaped = [
  /(?<![\p{L}\p{N}_])(?:SM|MM)[0-9a-f]{32}(?![\p{L}\p{N}_])/gu,
  /(?<![\p{L}\p{N}_])wamid\.[A-Za-z0-9+/=_-]{4,500}/gu,
  /(?:message[-_ ]?(?:s?id|uuid)|\bsid|email_id|wamid)[\s"'\\:=]{1,6}([^\s"'\\,;&{}]{4,512})/giu,
]

/** The provider's message ids of which the text says that they are some. */
export function messageIdsIn(text: string): string[] {
  const found = shaped.flatMap((pattern) =>
    [...text.matchAll(pattern)].map(([whole, named]) => named ?? whole),
  )
  return unique(found.flatMap(providerMessageIdsIn))
}

/** The provider's message ids that the text may be, or hold: between angle brackets as a Message-ID, or as a UUID. */
export function possibleMessageIdsIn(text: string): string[] {
  const inBrackets = [...text.matchAll(/<[^<>\s]{4,510}>/g)].map(([whole]) => whole)
  const uuids = Object.values(findIds(text)).flat()
  const whole = [text, ...inBrackets].flatMap(providerMessageIdsIn).filter((id) => !/["\\{}]/.test(id))
  return unique([...whole, ...uuids])
}

const inQuotes = /["“„«']([^"“”„«»'\n]{1,256})["”“»']/gu
const behindName = /reference[\s"'\\]{0,3}[:=][\s"'\\]{0,3}([^\s"'\\,;&{}]{1,256})/giu
const oneWord = /[^\s"“”„«»'<>(){}[\],;]{3,256}/gu

/**
 * The references that the text may be or hold: as a whole, in quotes, behind its name, or as a word of it. Words without a
 * digit or a sign in them are words of the sentence.
 */
export function referencesIn(text: string): string[] {
  const quoted = [behindName, inQuotes].flatMap((pattern) =>
    [...text.matchAll(pattern)].map(([, one = '']) => one),
  )
  const words = [...text.matchAll(oneWord)]
    .map(([one]) => one.replace(/[.:?!]+$/, ''))
    .filter((one) => /\d|\p{L}[-_/#:.]\p{L}/u.test(one))
  return unique([text, ...quoted, ...words]).filter(
    (one) => one !== '' && !isLongerThan(one, longestReference) && !/\p{Cc}/u.test(one),
  )
}

/** At most `maxWords`, each once, that PostgreSQL can compare. */
function unique(words: readonly string[]): string[] {
  return [...new Set(words)].filter(isStorable).slice(0, maxWords)
}
