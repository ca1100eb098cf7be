/** As much as an answer may hold of it; patterns take linear time on it. */
const longestWords = 8192
const longestMasked = 1000

/** Base64 and hex; phone numbers, however they are written. */
const patterns = [/[A-Za-z0-9+/]{16,}={0,2}/g, /\+?\d(?:[\s.()/-]{0,3}\d){6,}/g]

/** Long words and MIME types look like base64, but base64 as long as that is never all in lower case. */
const isWord = /^[a-z/]+$/

/** In a URL or an address, with whatever is written beside it without a space. */
const inAddress = /@|%40|:\/\//i

/**
 * A provider's own words, fit to be stored and shown: without the secrets given, in plain or base64, without whatever
 * else may be a credential, and without URLs, addresses and phone numbers.
 */
export function maskedWords(text: string, secrets: readonly string[]): string {
  const words = text.slice(0, longestWords)
  // All are looked for in the words as they came, since one masked first could break up another.
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
