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
export function readCsvLine(line: string, isChannel: (id: string) => boolean): CsvEntry | { issue: string } {
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
