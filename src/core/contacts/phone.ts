import { countryCodeOf, isPossibleAsWritten, planIssue, withoutTrunk } from './phone-plan.ts'

/** Length of the text as written. Removing the separators from 20 MB would take seconds. */
export const maxPhoneLength = 256

/**
 * The dropped characters, for a character class: dots, parentheses, and every space, dash and direction mark of Unicode, written as
 * ranges, since not every client's regular expressions know its properties. U+00AD, U+200B, U+2060 and U+FEFF count as dash or space.
 */
export const phoneSeparators = String.raw` \-.()\u00a0\u00ad\u058a\u05be\u061c\u1400\u1680\u1806\u2000-\u200b\u200e-\u2015\u202a-\u202f\u2053\u205f\u2060\u2066-\u2069\u207b\u208b\u2212\u2e17\u2e1a\u2e3a\u2e3b\u2e40\u2e5d\u3000\u301c\u3030\u30a0\ufe31\ufe32\ufe58\ufe63\ufeff\uff08\uff09\uff0d\uff0e\ud803\udd6e\ud803\udead`

const allowed = `^(?=[${phoneSeparators}+0-9]*$)`
/** Short for the separators, where only allowed characters are left. */
const gap = '[^+0-9]*'
const open = String.raw`[(\uff08]`
const plus = String.raw`(?:\+|0${gap}0)${gap}`

/** The form of what `parsePhone` takes, for clients that check before sending. A trunk zero may be a 16th digit. */
export const phonePattern = `${allowed}${gap}(?:${plus})?[1-9](?:${gap}[0-9]){6,15}${gap}$`

const stored = /^\+[1-9][0-9]{6,14}$/
const isAllowed = new RegExp(allowed, 'u')
const form = new RegExp(phonePattern, 'u')
const hasPlus = new RegExp(`^${gap}${plus}`)
const trunkZero = new RegExp(`${open}${gap}0${gap}[)\uff09]`)
/** As a spreadsheet or pandas writes a number that it took for one with decimals. */
const float = /^[^.\uff0e]*[.\uff0e](?:0+|[0-9])[^.\uff0e0-9]*$/
/** `(0151) …`, `(212) 555-1234`, `646-555-0123`: dialled within a country. A number with its country code has a `+` or `00`. */
const national = new RegExp(
  `^(?:[^+0-9]*${open}${gap}[0-9]|${gap}[2-9][0-9]{2}[^+0-9]+[0-9]{3}[^+0-9]+[0-9]{4}${gap}$)`,
)
/** `0151 …`: a trunk zero, without a country code. */
const trunkFirst = new RegExp(`^${gap}0${gap}[1-9]`)
/** `617-5551212`: an area code, unless it is the code of a country with such short numbers. */
const areaAndNumber = new RegExp(`^${gap}[2-9][0-9]{2}[^+0-9]+[0-9]{7}${gap}$`)

const inFull = 'write the number with + and its country code, such as +4915112345678'

/** The number as `+digits`, or undefined if it is invalid: `phoneIssue` says why (docs/reference/api.md#contact). */
export function parsePhone(value: string): string | undefined {
  const read = readPhone(value)
  return typeof read === 'string' ? read : undefined
}

/** A number to look for: also one as it was stored, since earlier releases took more. */
export const parseStoredPhone = (value: string): string | undefined =>
  stored.test(value) ? value : parsePhone(value)

/** Why `parsePhone` doesn't take the text, and what to do. */
export function phoneIssue(value: string): string {
  const read = readPhone(value)
  return typeof read === 'string' ? formIssue : read.issue
}

/** Whether the number exists is for the provider to say: numbering plans change faster than libraries. */
function readPhone(value: string): string | { issue: string } {
  if (stored.test(value) && isPossibleAsWritten(value.slice(1))) return value
  if (value.length > maxPhoneLength || !isAllowed.test(value)) return { issue: formIssue }
  if (!form.test(value)) return { issue: trunkFirst.test(value) ? `${formIssue}; ${inFull}` : formIssue }
  if (float.test(value))
    return { issue: 'ends like a number with decimals; write it as text, such as +4915112345678' }
  const isInFull = hasPlus.test(value)
  const digits = digitsOf(value)
  if (!isInFull && isNational(value, digits)) return { issue: `has no country code; ${inFull}` }
  const number = withoutTrunk(digits, withoutTrunkZero(value, digits))
  const issue = planIssue(number)
  if (issue !== undefined) return { issue: isInFull ? issue : `${issue}; ${inFull}` }
  return stored.test(`+${number}`) ? `+${number}` : { issue: formIssue }
}

const isNational = (value: string, digits: string) =>
  national.test(value) || (areaAndNumber.test(value) && countryCodeOf(digits)?.length !== 3)

const formIssue = 'has to be a phone number (7 to 15 digits, with the country code)'

const digitsOf = (text: string) => text.replace(/[^0-9]/g, '').replace(/^00/, '')

/** The digits without the zero in parentheses after the country code; undefined if there is none. */
function withoutTrunkZero(value: string, digits: string): string | undefined {
  const code = countryCodeOf(digits)
  const found = trunkZero.exec(value)
  if (!found || code === undefined || digitsOf(value.slice(0, found.index)) !== code) return undefined
  return code + digits.slice(code.length + 1)
}
