/** A spreadsheet takes such a text for a formula: its signs, those of full width too, and what it drops before them. */
const formula = /^[=+\-@\t\r\n＝＋－＠]/

/** A text that a spreadsheet doesn't take for a formula: such a one has an apostrophe in front. */
export const plainText = (text: string): string => (formula.test(text) ? `'${text}` : text)

/** The text again, of a `plainText`. */
export const textOf = (plain: string): string =>
  plain.startsWith("'") && formula.test(plain.slice(1)) ? plain.slice(1) : plain

/** A field of RFC 4180: in quotes if it has to be. */
export const csvField = (text: string): string =>
  /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text

/** A record of RFC 4180 with its line break. Nothing in it is run by a spreadsheet. */
export const csvRecord = (fields: readonly string[]): string =>
  `${fields.map((text) => csvField(plainText(text))).join(',')}\r\n`
