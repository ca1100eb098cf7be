/** A spreadsheet takes such a text for a formula: its signs, those of full width too, and what it drops before them. */
const sign = '[=+\\-@\\t\\r\\n＝＋－＠]'
/** A `;`, a tab or a line break begins another cell where a spreadsheet reads them so, even within quotes. */
const cellBegins = '(?<=^|[;\\t\\r\\n])'
const formula = new RegExp(`${cellBegins}(?=[ ']*${sign})`, 'g')
const plainFormula = new RegExp(`${cellBegins}'(?=[ ']*${sign})`, 'g')

/** A text that a spreadsheet doesn't take for a formula, nor a part of it: an apostrophe is before each. */
export const plainText = (text: string): string => text.replace(formula, "'")

/** The text again, of a `plainText`. */
export const textOf = (plain: string): string => plain.replace(plainFormula, '')

/** A field of RFC 4180, always in quotes, since `;` and tabs separate fields elsewhere. An empty one stays empty. */
export const csvField = (text: string): string => (text === '' ? '' : `"${text.replaceAll('"', '""')}"`)

/** A record of RFC 4180 with its line break. Nothing in it is run by a spreadsheet. */
export const csvRecord = (fields: readonly string[]): string =>
  `${fields.map((text) => csvField(plainText(text))).join(',')}\r\n`

/** By this, spreadsheets know that a file is UTF-8. */
export const byteOrderMark = '\ufeff'

export const csvSeparators = [',', ';', '\t'] as const
export type CsvSeparator = (typeof csvSeparators)[number]

/** Blanks around a field in quotes are none of it. */
const fieldBefore = (separator: CsvSeparator) =>
  new RegExp(`(?: *"((?:[^"]|"")*)" *|([^"${separator}]*))(${separator}|$)`, 'y')
const fieldPatterns = { ',': fieldBefore(','), ';': fieldBefore(';'), '\t': fieldBefore('\t') }

/** The fields of a line; undefined if its quotes don't fit. */
export function csvFields(line: string, separator: CsvSeparator): string[] | undefined {
  if (!line.includes('"')) return line.split(separator)
  const fields: string[] = []
  const field = fieldPatterns[separator]
  field.lastIndex = 0
  for (;;) {
    const [, inQuotes, bare = '', end] = field.exec(line) ?? []
    if (end === undefined) return undefined
    fields.push(inQuotes === undefined ? bare : inQuotes.replaceAll('""', '"'))
    if (end === '') return fields
  }
}
