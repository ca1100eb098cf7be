/** Enough for a code to be one without a name before it. Shorter numbers mean anything. */
const bareNumber = /(?<![\d.,+\p{L}_-])\d{5,7}(?![\d\p{L}_])/gu
const enhanced = /(?<![\d.])[245]\.\d{1,3}\.\d{1,3}(?![\d]|\.\d)/g
const named =
  /(?:code|error|err|reason|status|reply|#)[\s"'\\:=(#]{0,6}(\d{1,7}|[a-z]{2,30}(?:[_-][a-z]{1,30}){0,4})(?![\d\p{L}_])/giu
const word = /(?<![\p{L}\p{N}_-])[a-z]{2,30}(?:[_-][a-z]{1,30}){1,4}(?![\p{L}\p{N}_-])/gu

/** The codes of providers in a text: those that are known. */
export function codesIn(text: string, isKnown: (code: string) => boolean): string[] {
  const found = [enhanced, bareNumber, word].flatMap((pattern) =>
    [...text.matchAll(pattern)].map(([one]) => one),
  )
  const afterName = [...text.matchAll(named)].map(([, one = '']) => one)
  const whole = /^[\w.-]{1,64}$/.test(text) ? [text] : []
  return [...new Set([...whole, ...afterName, ...found])].filter(isKnown)
}
