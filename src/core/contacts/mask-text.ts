import { phoneSeparators } from './phone.ts'

/** The text is cut to this length; the patterns take linear time. */
const longestWords = 8192
const longestMasked = 1000

/** Base64 and hex; phone numbers in any notation. */
const patterns = [
  /[A-Za-z0-9+/]{16,}={0,2}/g,
  new RegExp(String.raw`\+?\d(?:[\s/${phoneSeparators}]{0,3}\d){6,}`, 'g'),
]

/** Long words and MIME types look like base64, but long base64 is never all lower case. */
const isWord = /^[a-z/]+$/

/** Marks a word as a URL or an e-mail address. */
const inAddress = /@|%40|:\/\//i

/**
 * A provider's text with all parts masked that must not be stored or shown: the given secrets, plain or as base64, anything
 * else that may be a credential, URLs, addresses and phone numbers.
 */
export function maskText(text: string, secrets: readonly string[]): string {
  const words = text.slice(0, longestWords)
  // All are searched in the unmasked text, because masking one first could split another.
  const isMasked = new Uint8Array(words.length)
  for (const [start, length] of findings(words, secrets)) isMasked.fill(1, start, start + length)
  const shown = Array.from(isMasked, (is, at) => (is ? (isMasked[at - 1] ? '' : '…') : words[at]))
  return shown.join('').slice(0, longestMasked)
}

function* findings(words: string, secrets: readonly string[]): Generator<[start: number, length: number]> {
  for (const secret of secrets.filter((given) => given !== '')) {
    for (const form of [secret, Buffer.from(secret).toString('base64')]) {
      for (let at = words.indexOf(form); at >= 0; at = words.indexOf(form, at + 1)) yield [at, form.length]
    }
  }
  for (const { 0: word, index } of patterns.flatMap((pattern) => [...words.matchAll(pattern)])) {
    if (!isWord.test(word)) yield [index, word.length]
  }
  for (const { 0: word, index } of words.matchAll(/\S+/g)) {
    if (inAddress.test(word)) yield [index, word.length]
  }
}
