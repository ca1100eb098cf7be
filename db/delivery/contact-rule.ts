import { type SQL, sql } from 'drizzle-orm'
import { foldContactValue } from '../../src/core/contacts/contact.ts'

/*
 * Contacts are sent to as they were written, and compared without regard to case (docs/decisions/0055-contacts-without-case.md). Rows hold them as written,
 * because the previous release reads them so.
 */

/**
 * SQL of `foldContactValue`. By the letters of ASCII alone, so that an index is right whatever the locale of the database: in Turkish
 * the letter after `h` isn't that of `I`. The second collation is that of the columns: without it none of their indexes would be used.
 */
export const folded = (value: string) => `lower(${value} collate "C") collate "default"`

/** SQL that is true for a value with capitals. Few have any: those have small indexes of their own. */
export const hasCapitals = (value: string) => `${value} <> ${folded(value)}`

/**
 * SQL that is true if a column has the contact, in any case of its letters. PostgreSQL finds it by two indexes: that of the column, and
 * that of values with capitals.
 *
 * @param value SQL of the folded value.
 */
export const isContact = (column: string, value: string) =>
  `(${column} = ${value}
  or ${folded(column)} = ${value}
    and ${hasCapitals(column)})`

/** SQL of the key of an entry: one for all spellings of its contact, also once that was erased. There is an index of it. */
export const entryKey = (entry: string) =>
  `coalesce(${entry}.contact_key,
  ${folded(`${entry}.contact_value`)})`

/** `isContact` for a statement of drizzle, and a column `contact_value`. */
export function contactIs(value: string): SQL {
  const param = sql.param(foldContactValue(value))
  const [column, lower, capitals] = ['contact_value', folded('contact_value'), hasCapitals('contact_value')]
  return sql`(${sql.raw(column)} = ${param} or ${sql.raw(lower)} = ${param} and ${sql.raw(capitals)})`
}
