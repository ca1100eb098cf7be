import { type Contact, parseContact } from './contact.ts'
import { csvField, plainText, textOf } from './csv.ts'
import { suppressionReason } from './suppression.ts'

/** Line 1 of a file of suppressions. Each line after it is an entry, by RFC 4180, without line breaks in a field. */
export const csvHeader = 'contact,channelId,reason'

/** One entry of such a file. */
export interface CsvEntry {
  contact: Pick<Contact, 'type' | 'value'>
  /** Null for all channels. */
  channelId: string | null
  reason: string | null
}

const plainField = (text: string) => csvField(plainText(text))

export function csvLine({ contact, channelId, reason }: CsvEntry): string {
  const value = contact.type === 'phone' ? contact.value : plainField(contact.value)
  return `${value},${channelId ?? ''},${plainField(reason ?? '')}`
}

/** The fields of a line; undefined if its quotes don't fit. */
function fieldsOf(line: string): string[] | undefined {
  if (!line.includes('"')) return line.split(',')
  const fields: string[] = []
  const field = /(?:"((?:[^"]|"")*)"|([^",]*))(,|$)/y
  for (;;) {
    const [, inQuotes, bare = '', end] = field.exec(line) ?? []
    if (end === undefined) return undefined
    fields.push(inQuotes === undefined ? bare : inQuotes.replaceAll('""', '"'))
    if (end === '') return fields
  }
}

/**
 * Reads a line after the first.
 *
 * @param isChannel whether the account has a channel with this id.
 * @returns what is wrong, without the contact.
 */
function readCsvLine(line: string, isChannel: (id: string) => boolean): CsvEntry | { issue: string } {
  const fields = fieldsOf(line)
  if (!fields) return { issue: 'a quote is not closed, or stands inside of a field' }
  if (fields.length !== 3) return { issue: `has ${fields.length} fields in place of 3` }
  const [value = '', channelId = '', reason = ''] = fields
  const contact = parseContact(textOf(value).trim())
  if (!contact) return { issue: 'contact: has to be a phone number or an e-mail address' }
  if (channelId !== '' && !isChannel(channelId))
    return { issue: 'channelId: the account has no such channel' }
  if (reason === '') return { contact, channelId: channelId || null, reason: null }
  const parsed = suppressionReason.safeParse(textOf(reason))
  if (!parsed.success) return { issue: `reason: ${parsed.error.issues[0]?.message}` }
  return { contact, channelId: channelId || null, reason: parsed.data }
}

const maxFaults = 10

/** Lines by their numbers, from 1. */
export type NumberedLines =
  | AsyncIterable<[number: number, line: string]>
  | Iterable<[number: number, line: string]>

/** What a file has: how many entries, or what is wrong with it, naming the faulty lines. */
export async function checkCsv(
  lines: NumberedLines,
  isChannel: (id: string) => boolean,
): Promise<{ entries: number } | { faults: string[]; more: number }> {
  const faults: string[] = []
  let entries = 0
  let faulty = 0
  for await (const [number, given] of lines) {
    const line = lineOf(number, given)
    if (line === undefined) continue
    const issue = number === 1 ? headerIssue(line) : issueIn(readCsvLine(line, isChannel))
    if (number > 1) entries++
    if (issue === undefined) continue
    faulty++
    if (faults.length < maxFaults) faults.push(`line ${number}: ${issue}`)
    if (number === 1) break
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
  let page: CsvEntry[] = []
  for await (const [number, given] of lines) {
    const line = lineOf(number, given)
    if (number === 1 || line === undefined) continue
    const entry = readCsvLine(line, isChannel)
    if ('issue' in entry) return onFault(number)
    page.push(entry)
    if (page.length < pageSize) continue
    yield page
    page = []
  }
  if (page.length > 0) yield page
}

/** Undefined for an empty line after the first one, which may begin with a byte order mark. */
function lineOf(number: number, line: string): string | undefined {
  const text = number === 1 ? line.replace(/^\ufeff/, '') : line
  return text.trim() === '' && number > 1 ? undefined : text
}

const headerIssue = (line: string) => (line.trim() === csvHeader ? undefined : `has to be ${csvHeader}`)
const issueIn = (read: ReturnType<typeof readCsvLine>) => ('issue' in read ? read.issue : undefined)
