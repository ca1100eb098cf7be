import { InvalidArgumentError } from 'commander'
import type { z } from 'zod'
import { accountExists, type RateLimit } from '../../db/accounts/accounts.ts'
import type { Database } from '../../db/connection/client.ts'
import { type Permission, permissions } from '../core/accounts/api-key.ts'
import { parseHours, parseQuietPriorities, parseQuietZone } from '../core/channels/quiet-hours.ts'
import { type Contact, contactIssue, parseContact, parseStoredContact } from '../core/contacts/contact.ts'
import { isCountry } from '../core/contacts/country.ts'
import { isLongerThan, isStorable } from '../core/requests/characters.ts'
import { describeIssue, joinIssues } from '../core/requests/issues.ts'
import { durationMs, parsePastMoment, pastMomentWanted } from '../core/requests/past-moment.ts'
import { canBeRecordId } from '../core/requests/record-id.ts'
import { operatorReason, operatorReasonForm } from '../core/sends/own-reasons.ts'
import { type Priority, priorities } from '../core/sends/priority.ts'
import { type AutoCause, autoCauses } from '../core/suppression/suppression.ts'
import { CliError } from './answer.ts'

const largestInteger = 2_147_483_647
const longestWindowSeconds = 86_400
const maxCallsPerSecond = 1000

export function rateLimit(text: string): RateLimit {
  const [points, seconds] = /^(\d+)\/(\d+)$/.exec(text)?.slice(1).map(Number) ?? []
  if (!points || !seconds || points > largestInteger || seconds > longestWindowSeconds) {
    throw new InvalidArgumentError('Use POINTS/SECONDS, e.g. 600/60, with at most 86400 seconds.')
  }
  return { points, seconds }
}

/** Returns 0 for "none", because commander treats null as a missing value. */
export function limit(text: string): number {
  return text === 'none' ? 0 : wholeNumber(text)
}

export interface Rate {
  calls: number
  seconds: number
}

/** Returns 0 calls for "none". */
export function callRate(text: string): Rate {
  if (text === 'none') return { calls: 0, seconds: 0 }
  const [calls, seconds] = /^(\d{1,9})\/(\d{1,9})$/.exec(text)?.slice(1).map(Number) ?? []
  if (!calls || !seconds || calls / seconds > maxCallsPerSecond || seconds > longestWindowSeconds) {
    throw new InvalidArgumentError(
      'Use N/SECONDS, e.g. 80/1, with at most 1000 a second and 86400 seconds; or "none".',
    )
  }
  return { calls, seconds }
}

export function wholeNumber(text: string): number {
  const number = /^\d{1,10}$/.test(text) ? Number(text) : 0
  if (number < 1 || number > largestInteger) {
    throw new InvalidArgumentError(`Use a whole number from 1 to ${largestInteger}.`)
  }
  return number
}

export function durationSeconds(text: string): number {
  const ms = durationMs(text)
  if (!ms) throw new InvalidArgumentError('Use a number above 0 and s, m, h or d, e.g. 90d.')
  return ms / 1000
}

export function pastMoment(text: string): Date {
  const at = parsePastMoment(text)
  if (at) return at
  throw new InvalidArgumentError(`Use ${pastMomentWanted}.`)
}

/** The causes that suppress contacts by themselves. */
export function causeList(text: string): AutoCause[] | 'all' {
  if (text === 'none') return []
  if (text === 'all') return text
  const named = [...new Set(text.split(',').map((name) => name.trim()))]
  if (named.every((name): name is AutoCause => autoCauses.some((known) => known === name))) return named
  throw new InvalidArgumentError(`Use all, none, or one or more of ${autoCauses.join(',')}.`)
}

/** The codes of countries; `none` stays as it is, because commander treats null as a missing value. */
export function countryList(text: string): string[] | 'none' {
  if (text === 'none') return text
  const codes = [...new Set(text.split(',').map((code) => code.trim().toUpperCase()))]
  const unknown = codes.find((code) => !isCountry(code))
  if (unknown === undefined) return codes
  throw new InvalidArgumentError(
    `${unknown === '' ? 'A code is missing' : `No country has the code ${unknown}`}. Use codes of two letters, e.g. DE,AT,CH; or none.`,
  )
}

/** Hours of the day; `none` stays as it is, because commander treats null as a missing value. */
export function quietHours(text: string) {
  if (text === 'none') return text
  const hours = parseHours(text)
  if (hours) return hours
  throw new InvalidArgumentError('Use two different times of day, such as 21:00-08:00; or none.')
}

export function quietZone(text: string) {
  const zone = parseQuietZone(text)
  if (zone) return zone
  throw new InvalidArgumentError(
    "Use contact, a zone's IANA name, such as Europe/Berlin, or both: contact,Europe/Berlin.",
  )
}

export function quietFor(text: string): Priority[] {
  const named = parseQuietPriorities(text)
  if (named) return named
  throw new InvalidArgumentError(`Use one or more of ${priorities.join(',')}.`)
}

/** A part of the reason for which sends failed. */
export function reasonPart(text: string): string {
  if (text.trim() === '' || text.length > 500 || !isStorable(text)) {
    throw new InvalidArgumentError('Use 1 to 500 characters of the reason, as trace shows it.')
  }
  return text.trim()
}

/** Why an operator holds a channel or suppresses a contact. */
export function operatorsWords(text: string): string {
  const { data } = operatorReason.safeParse(text.trim())
  if (data !== undefined) return data
  throw new InvalidArgumentError(`Use ${operatorReasonForm}.`)
}

export function permissionList(text: string): Permission[] {
  const named = [...new Set(text.split(',').map((name) => name.trim()))]
  if (!named.every((name): name is Permission => permissions.some((known) => known === name))) {
    throw new InvalidArgumentError(`Use one or more of ${permissions.join(',')}.`)
  }
  return named
}

/** Types of changes; `all` stays as it is, because commander treats null as a missing value. */
export function changeList(text: string): string[] | 'all' {
  return text === 'all' ? text : text.split(',').map((name) => name.trim())
}

/** How long calls are signed with the former secret, too. */
export function overlapSeconds(text: string): number {
  const seconds = durationMs(text) / 1000
  if (seconds > 0 || /^0[smhd]$/.test(text)) return seconds
  throw new InvalidArgumentError('Use 0s to 7d, e.g. 24h.')
}

/**
 * Checks options by the schema of the API's route that does the same.
 *
 * @param optionOf the options of fields whose option has another name.
 * @throws CliError with the words of that route's 400.
 */
export function checkedOptions<Schema extends z.ZodType>(
  schema: Schema,
  options: object,
  optionOf: Record<string, string> = {},
): z.output<Schema> {
  const { success, data, error } = schema.safeParse(options, { error: describeIssue })
  if (success) return data
  const issues = error.issues.map(({ path: [field], message }) => {
    const name = String(field)
    return field === undefined ? `Fix the options: ${message}` : `Fix --${optionOf[name] ?? name}: ${message}`
  })
  throw new CliError('usage', joinIssues(issues))
}

const contactBy =
  (parse: typeof parseContact) =>
  (text: string): Pick<Contact, 'type' | 'value'> => {
    const parsed = parse(text)
    if (!parsed) throw new InvalidArgumentError(`It ${contactIssue(text)}.`)
    return parsed
  }

/** A contact to send to or to suppress. */
export const contact = contactBy(parseContact)

/** A contact to look for: also a number that only earlier releases took. */
export const storedContact = contactBy(parseStoredContact)

/** A template's name, within the limits of `template.name` in a send (docs/reference/api.md#body). */
export function templateName(text: string): string {
  if (text === '' || isLongerThan(text, 512) || /\p{Cc}/u.test(text)) {
    throw new InvalidArgumentError('Use 1 to 512 characters on one line.')
  }
  return text
}

/** @throws CliError if there is no such account. */
export async function existingAccount(db: Database, id: string): Promise<string> {
  if (canBeRecordId(id) && (await accountExists(db, id))) return id
  throw new CliError(
    'not_found',
    `No account ${id}; see them with: outbound account list, or make one with: outbound account create --name NAME`,
  )
}
