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

/** A reason, such as `Twilio: the account is suspended: Contact support`. Words that the texts share stand once. */
export const reasonOf = (lead: string, texts: readonly string[]): string =>
  [lead, ...distinctTexts(texts)].filter((text) => text !== '').join(': ')

const says = (text: string, other: string) => lettersOf(text).includes(lettersOf(other))
const lettersOf = (text: string) =>
  text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .trim()
