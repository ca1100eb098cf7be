import { parsePhoneNumberFromString } from 'libphonenumber-js/min'
import metadata from 'libphonenumber-js/min/metadata'

/** The rules of the numbers of one country code. */
interface Plan {
  /** How many digits may follow the country code. */
  lengths: readonly number[]
  /** The digits that are dialled before a number within the country, and left out after its code. */
  trunk: string | undefined
}

// The places in a country's entry: METADATA.md of the library.
const planOf = ([, , , lengths, , trunk]: readonly unknown[]): Plan => ({
  lengths: lengths as number[],
  // Absent as null or 0.
  trunk: typeof trunk === 'string' ? trunk : undefined,
})

/** By country code. If countries share one, the first has the lengths of all. */
const plans = new Map<string, Plan>([
  ...Object.entries(metadata.country_calling_codes).map(
    ([code, [country]]) => [code, planOf((country && metadata.countries[country]) ?? [])] as const,
  ),
  ...Object.entries(metadata.nonGeographic).map(([code, entry]) => [code, planOf(entry)] as const),
])
const addLengths = (code: string, lengths: readonly number[]) =>
  plans.set(code, { trunk: undefined, ...plans.get(code), lengths })
// WhatsApp still writes the 1 that Mexico gave up: `+52 1 55 …`.
addLengths('52', [...(plans.get('52')?.lengths ?? []), 11])
// The Vatican's, which has no number of its own yet. It numbers as Italy does.
addLengths('379', plans.get('39')?.lengths ?? [])

/** The country code that the digits begin with. No code begins with another one. */
export function countryCodeOf(digits: string): string | undefined {
  for (let length = 1; length <= 3; length++) {
    const code = digits.slice(0, length)
    if (plans.has(code)) return code
  }
  return undefined
}

/** Whether the digits are a possible number as they are. By the table alone: most sends come here and no further. */
export function isPossibleAsWritten(digits: string): boolean {
  const code = countryCodeOf(digits)
  const plan = code === undefined ? undefined : plans.get(code)
  if (!plan || code === undefined || !plan.lengths.includes(digits.length - code.length)) return false
  const { trunk } = plan
  return trunk === undefined || !(digits.charAt(code.length) === '0' || digits.startsWith(trunk, code.length))
}

/**
 * The digits without a trunk prefix, where the country has one and the number isn't one with it.
 *
 * @param withoutZero the digits without a zero that was in parentheses after the country code.
 */
export function withoutTrunk(digits: string, withoutZero: string | undefined): string {
  if (withoutZero === undefined && isPossibleAsWritten(digits)) return digits
  const read = parsePhoneNumberFromString(`+${digits}`, { extract: false })
  // The library also completes a number, by an area code or Argentina's 9. That would be another one than was written.
  const isShorter = read !== undefined && digits.endsWith(read.nationalNumber)
  const plain = isShorter ? read.number.slice(1) : digits
  if (withoutZero === undefined || read?.isValid()) return plain
  // Poland and Greece gave their trunk zero up, but people still write it.
  return parsePhoneNumberFromString(`+${withoutZero}`, { extract: false })?.isValid() ? withoutZero : plain
}

/** Why the digits are no possible number; undefined if they are one. */
export function planIssue(digits: string): string | undefined {
  const code = countryCodeOf(digits)
  const lengths = code === undefined ? [] : [...(plans.get(code)?.lengths ?? [])]
  if (code === undefined) return 'begins with a country code that no country has'
  const length = digits.length - code.length
  if (lengths.includes(length)) return undefined
  const wrong =
    length < Math.min(...lengths) ? 'too short' : length > Math.max(...lengths) ? 'too long' : 'of no length'
  return `is ${wrong} for the country code +${code}, after which ${inWords(lengths)} digits come`
}

function inWords(lengths: number[]): string {
  const sorted = lengths.sort((a, b) => a - b)
  const last = sorted.pop()
  return sorted.length === 0 ? `${last}` : `${sorted.join(', ')} or ${last}`
}
