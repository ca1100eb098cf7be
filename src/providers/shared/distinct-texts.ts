import { maskText } from '../../core/contacts/mask-text.ts'
import type { Failure } from '../../core/sends/outcome.ts'

/** Without the texts that another one of them contains: vendors often say the same in two fields. */
export function distinctTexts(texts: readonly string[]): string[] {
  const kept: string[] = []
  for (const text of texts) {
    if (kept.some((other) => says(other, text))) continue
    const rest = kept.filter((other) => !says(text, other))
    kept.splice(0, kept.length, ...rest, text)
  }
  return kept
}

/** A reason, such as `Twilio: the account is suspended: Contact support`. What the texts say twice is said once. */
export const reasonOf = (lead: string, texts: readonly string[]): string =>
  [lead, ...distinctTexts(texts)].filter((text) => text !== '').join(': ')

/** A provider's words if they are about the channel, without secrets. Others may repeat content or contact. */
export const wordsOnChannel = ({ outcome }: Failure, words: string, secrets: readonly string[]): string =>
  outcome === 'channel_refused' ? maskText(words, secrets) : ''

const says = (text: string, other: string) => lettersOf(text).includes(lettersOf(other))
const lettersOf = (text: string) =>
  text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .trim()
