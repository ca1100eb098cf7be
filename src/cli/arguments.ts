import { InvalidArgumentError } from 'commander'
import type { z } from 'zod'
import { accountExists } from '../../db/accounts/accounts.ts'
import type { Database } from '../../db/connection/client.ts'
import { type Ceiling, ceilingText } from '../core/accounts/ceiling.ts'
import { type Contact, contactIssue, parseContact, parseStoredContact } from '../core/contacts/contact.ts'
import { isStorable } from '../core/requests/characters.ts'
import { describeIssue, joinIssues } from '../core/requests/issues.ts'
import { parsePastMoment, pastMomentWanted } from '../core/requests/past-moment.ts'
import { canBeRecordId } from '../core/requests/record-id.ts'
import * as lists from '../core/typed/lists.ts'
import * as names from '../core/typed/names.ts'
import * as numbers from '../core/typed/numbers.ts'
import { CliError } from './answer.ts'
import { argument } from './argument.ts'

export const rateLimit = argument(numbers.rateLimit)
export const limit = argument(numbers.limit)
export const callRate = argument(numbers.callRate)
export const wholeNumber = argument(numbers.wholeNumber)
export const durationSeconds = argument(numbers.durationSeconds)
export const overlapSeconds = argument(numbers.overlapSeconds)
export const permissionList = argument(lists.permissionList)
export const fallbackCauseList = argument(lists.fallbackCauseList)
export const causeList = argument(lists.causeList)
export const countryList = argument(lists.countryList)
export const quietHours = argument(lists.quietHours)
export const quietZone = argument(lists.quietZone)
export const quietFor = argument(lists.quietFor)
export const changeList = argument(lists.changeList)

/** May be given several times. */
export function ceilingList(text: string, before?: Ceiling[] | 'none'): Ceiling[] | 'none' {
  const given =
    before === undefined ? text : `${before === 'none' ? before : before.map(ceilingText).join()},${text}`
  return argument(lists.ceilingList)(given)
}

export const templateName = argument(names.templateName)
export const personName = argument(names.personName)
export const operatorsWords = argument(names.operatorsWords)

export function pastMoment(text: string): Date {
  const at = parsePastMoment(text)
  if (at) return at
  throw new InvalidArgumentError(`Use ${pastMomentWanted}.`)
}

/** A part of the reason for which sends failed. */
export function reasonPart(text: string): string {
  if (text.trim() === '' || text.length > 500 || !isStorable(text)) {
    throw new InvalidArgumentError('Use 1 to 500 characters of the reason, as trace shows it.')
  }
  return text.trim()
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

/** @throws CliError if there is no such account. */
export async function existingAccount(db: Database, id: string): Promise<string> {
  if (canBeRecordId(id) && (await accountExists(db, id))) return id
  throw new CliError(
    'not_found',
    `No account ${id}; see them with: outbound account list, or make one with: outbound account create --name NAME`,
  )
}
