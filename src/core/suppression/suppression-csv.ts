import { type Contact, contactIssue, parseStoredContact } from '../contacts/contact.ts'
import {
  byteOrderMark,
  type CsvSeparator,
  csvField,
  csvFields,
  csvSeparators,
  plainText,
  textOf,
} from '../requests/csv.ts'
import { notUtf8 } from '../requests/utf8.ts'
import { suppressionReason } from './suppression.ts'

const columns = ['contact', 'channelId', 'reason']

/** Line 1 of a file of suppressions. Each line after it is an entry, by RFC 4180, without line breaks in a field. */
export const csvHeader = columns.join(',')

/** One entry of such a file. */
export interface CsvEntry {
  contact: Pick<Contact, 'type' | 'value'>
  /** Null for all channels. */
  channelId: string | null
  reason: string | null
}

const plainField = (text: string) => csvField(plainText(text))

export function csvLine({ contact, channelId, reason }: CsvEntry): string {
  // Programs read this one. A number of digits alone runs nothing in a spreadsheet.
  const value = contact.type === 'phone' ? csvField(contact.value) : plainField(contact.value)
  return `${value},${csvField(channelId ?? '')},${plainField(reason ?? '')}`
}

/**
 * Reads the fields of a line after the header.
 *
 * @param isChannel whether the account has a channel with this id.
 * @returns what is wrong, without the contact.
 */
function readEntry(
  fields: readonly string[],
  isChannel: (id: string) => boolean,
): CsvEntry | { issue: string } {
  if (fields.length !== columns.length)
    return { issue: `has ${fields.length} fields in place of ${columns.length}` }
  const [value = '', channelId = '', reason = ''] = fields.map((field) => field.trim())
  const written = textOf(value).trim()
  // An export may hold a number that only earlier releases took.
  const contact = parseStoredContact(written)
  if (!contact) return { issue: `contact: ${contactIssue(written)}` }
  if (channelId !== '' && !isChannel(channelId))
    return { issue: 'channelId: the account has no such channel' }
  if (reason === '') return { contact, channelId: channelId || null, reason: null }
  const parsed = suppressionReason.safeParse(textOf(reason))
  if (!parsed.success) return { issue: `reason: ${parsed.error.issues[0]?.message}` }
  return { contact, channelId: channelId || null, reason: parsed.data }
}

const maxFaults = 10

/** Lines by their numbers, from 1; undefined for one that isn't UTF-8. */
export type NumberedLines =
  | AsyncIterable<[number: number, line: string | undefined]>
  | Iterable<[number: number, line: string | undefined]>

/** Reads the lines of a file in their order: nothing for an empty one, for `sep=;`, as spreadsheets write it, and for the header. */
function createReadLine(isChannel: (id: string) => boolean) {
  let separator: CsvSeparator | undefined
  return (
    number: number,
    given: string | undefined,
  ): CsvEntry | { issue: string; ends?: true } | undefined => {
    const line = (number === 1 && given?.startsWith(byteOrderMark) ? given.slice(1) : given)?.replace(
      /\r$/,
      '',
    )
    if (line === undefined) return { issue: notUtf8 }
    if (separator === undefined) {
      if (line.trim() === '') return undefined
      if (number === 1 && /^"?sep=.?"?\s*$/i.test(line)) return undefined
      separator = csvSeparators.find((one) => isHeader(csvFields(line, one)))
      return separator ? undefined : { issue: `has to be ${csvHeader}`, ends: true }
    }
    const fields = csvFields(line, separator)
    if (!fields) return { issue: 'a quote is not closed, or stands inside of a field' }
    const filled = fields.findLastIndex((field) => field.trim() !== '') + 1
    // Spreadsheets write rows that were emptied, and columns beside the table.
    if (filled === 0) return undefined
    return readEntry(fields.slice(0, Math.max(filled, columns.length)), isChannel)
  }
}

const isHeader = (fields: string[] | undefined) =>
  fields !== undefined &&
  columns.every(
    (column, index) => fields[index]?.replaceAll(/\s/g, '').toLowerCase() === column.toLowerCase(),
  ) &&
  fields.slice(columns.length).every((field) => field.trim() === '')

/** Counts the entries of a file, or lists its faults by their lines. */
export async function checkCsv(
  lines: NumberedLines,
  isChannel: (id: string) => boolean,
): Promise<{ entries: number } | { faults: string[]; more: number }> {
  const read = createReadLine(isChannel)
  const faults: string[] = []
  let entries = 0
  let faulty = 0
  for await (const [number, line] of lines) {
    const entry = read(number, line)
    if (entry === undefined) continue
    if (!('issue' in entry)) {
      entries++
      continue
    }
    faulty++
    if (faults.length < maxFaults) faults.push(`line ${number}: ${entry.issue}`)
    if (entry.ends) break
  }
  if (faulty > 0) return { faults, more: faulty - faults.length }
  if (entries > 0) return { entries }
  return { faults: [`there are no entries; line 1 is ${csvHeader}, then one line each`], more: 0 }
}

/**
 * The entries of a file that was checked, page by page.
 *
 * @param onFault called with the number of a line that is faulty now; throws.
 */
export async function* entriesOfCsv(
  lines: NumberedLines,
  isChannel: (id: string) => boolean,
  pageSize: number,
  onFault: (number: number) => never,
): AsyncGenerator<CsvEntry[]> {
  const read = createReadLine(isChannel)
  let page: CsvEntry[] = []
  for await (const [number, line] of lines) {
    const entry = read(number, line)
    if (entry === undefined) continue
    if ('issue' in entry) return onFault(number)
    page.push(entry)
    if (page.length < pageSize) continue
    yield page
    page = []
  }
  if (page.length > 0) yield page
}
