/** Length of the text as written. Removing the separators from 20 MB would take seconds. */
export const maxPhoneLength = 256

/**
 * What is dropped, for a character class: dots, parentheses, and every space, dash and direction mark of Unicode, written as
 * ranges, since not every client's regular expressions know its properties. U+00AD, U+200B, U+2060 and U+FEFF count as dash or space.
 */
export const phoneSeparators = String.raw` \-.()\u00a0\u00ad\u058a\u05be\u061c\u1400\u1680\u1806\u2000-\u200b\u200e-\u2015\u202a-\u202f\u2053\u205f\u2060\u2066-\u2069\u207b\u208b\u2212\u2e17\u2e1a\u2e3a\u2e3b\u2e40\u2e5d\u3000\u301c\u3030\u30a0\ufe31\ufe32\ufe58\ufe63\ufeff\uff08\uff09\uff0d\uff0e\ud803\udd6e\ud803\udead`

const allowed = `^(?=[${phoneSeparators}+0-9]*$)`
/** Short for the separators, where only allowed characters are left. */
const gap = '[^+0-9]*'
const more = (min: number, max: number) => `(?:${gap}[0-9]){${min},${max}}`
const plus = String.raw`(?:\+|0${gap}0)${gap}`
const trunkZero = String.raw`${gap}[(\uff08]${gap}0${gap}[)\uff09]`
const countryCode = `[1-9]${more(0, 2)}`
const number = `[1-9]${more(6, 14)}`
/** The trunk zero comes after a country code of 1 to 3 digits, and is none of the 7 to 15 digits. */
const numberWithTrunkZero = [0, 1, 2].map((n) => `[1-9]${more(n, n)}${trunkZero}${more(6 - n, 14 - n)}`)

/** `parsePhone` as a pattern, for clients that check before sending. */
export const phonePattern = `${allowed}${gap}(?:${plus}(?:${numberWithTrunkZero.join('|')}|(?!${countryCode}${trunkZero})${number})|${number})${gap}$`

const stored = /^\+[1-9][0-9]{6,14}$/
const isAllowed = new RegExp(allowed, 'u')
const upToTrunkZero = new RegExp(`^(${gap}${plus}${countryCode})${trunkZero}`, 'u')

/**
 * The number as `+digits`, or undefined if it is invalid. Only the form is checked: the provider knows which numbers exist, and
 * numbering plans change faster than libraries (docs/reference/api.md#contact).
 */
export function parsePhone(value: string): string | undefined {
  if (value.length > maxPhoneLength) return undefined
  if (stored.test(value)) return value
  if (!isAllowed.test(value)) return undefined
  const digits = value.replace(upToTrunkZero, '$1').replace(/[^+0-9]/g, '')
  const parsed = `+${digits.replace(/^(\+|00)/, '')}`
  return stored.test(parsed) ? parsed : undefined
}
