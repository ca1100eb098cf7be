import { type Permission, permissions } from '../accounts/api-key.ts'
import { type Ceiling, ceilingsIssue, parseCeiling } from '../accounts/ceiling.ts'
import { parseHours, parseQuietPriorities, parseQuietZone } from '../channels/quiet-hours.ts'
import { isCountry } from '../contacts/country.ts'
import { type FallbackCause, fallbackCauses } from '../sends/fallback.ts'
import { type Priority, priorities } from '../sends/priority.ts'
import { type AutoCause, autoCauses } from '../suppression/suppression.ts'
import { TypedFault } from './typed-fault.ts'

const words = (text: string) => [...new Set(text.split(',').map((word) => word.trim()))]

/** Some of the words that there are, each once. */
const someOf =
  <Word extends string>(known: readonly Word[]) =>
  (text: string): Word[] => {
    const named = words(text)
    if (named.every((word): word is Word => known.some((one) => one === word))) return named
    throw new TypedFault(`Use one or more of ${known.join(',')}.`)
  }

export const permissionList: (text: string) => Permission[] = someOf(permissions)

/** After what a send goes on by the fallback. */
export const fallbackCauseList: (text: string) => FallbackCause[] = someOf(fallbackCauses)

/** The causes that suppress contacts by themselves. */
export function causeList(text: string): AutoCause[] | 'all' {
  if (text === 'none') return []
  if (text === 'all') return text
  const named = words(text)
  if (named.every((name): name is AutoCause => autoCauses.some((known) => known === name))) return named
  throw new TypedFault(`Use all, none, or one or more of ${autoCauses.join(',')}.`)
}

/** The codes of countries; `none` stays as it is, because commander treats null as a missing value. */
export function countryList(text: string): string[] | 'none' {
  if (text === 'none') return text
  const codes = words(text.toUpperCase())
  const unknown = codes.find((code) => !isCountry(code))
  if (unknown === undefined) return codes
  throw new TypedFault(
    `${unknown === '' ? 'A code is missing' : `No country has the code ${unknown}`}. Use codes of two letters, e.g. DE,AT,CH; or none.`,
  )
}

/** Hours of the day; `none` stays as it is, because commander treats null as a missing value. */
export function quietHours(text: string) {
  if (text === 'none') return text
  const hours = parseHours(text)
  if (hours) return hours
  throw new TypedFault('Use two different times of day, such as 21:00-08:00; or none.')
}

export function quietZone(text: string) {
  const zone = parseQuietZone(text)
  if (zone) return zone
  throw new TypedFault(
    "Use contact, a zone's IANA name, such as Europe/Berlin, or both: contact,Europe/Berlin.",
  )
}

export function quietFor(text: string): Priority[] {
  const named = parseQuietPriorities(text)
  if (named) return named
  throw new TypedFault(`Use one or more of ${priorities.join(',')}.`)
}

/** Ceilings, with commas; `none` stays as it is, because commander treats null as a missing value. */
export function ceilingList(text: string): Ceiling[] | 'none' {
  if (text.trim() === 'none') return 'none'
  const parsed = text.split(',').map(parseCeiling)
  const ceilings = parsed.filter((ceiling) => ceiling !== undefined)
  if (ceilings.length < parsed.length)
    throw new TypedFault(
      'Use an amount, messages or segments, and hour, day or month, such as "10000 messages/day"; or none.',
    )
  const issue = ceilingsIssue(ceilings)
  if (issue) throw new TypedFault(issue)
  return ceilings
}

/** Types of changes; `all` stays as it is, because commander treats null as a missing value. */
export function changeList(text: string): string[] | 'all' {
  return text === 'all' ? text : words(text)
}
