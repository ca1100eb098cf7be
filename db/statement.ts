import type { QueryResultRow } from 'pg'
import type { Database, Transaction } from './client.ts'

/** All prepared statements, by name: `npm run statements` writes them to db/statements.sql. */
export const statements = new Map<string, { purpose: string; text: string }>()

/**
 * A statement of the hot path: prepared once a connection, outside the query builder.
 *
 * Many rows travel as one JSON parameter that is unfolded there, however many columns they have
 * (docs/decisions/0007-json-recordset.md).
 *
 * @param name unique in the service.
 * @param purpose one sentence, for db/statements.sql.
 */
export function prepared<Result extends QueryResultRow>(name: string, purpose: string, text: string) {
  if (statements.has(name)) throw new Error(`Two statements are named ${name}`)
  statements.set(name, { purpose, text })
  return async (db: Database | Transaction, values: unknown[]): Promise<Result[]> => {
    const { rows } = await db.$client.query<Result>({ name, text, values })
    return rows
  }
}

/**
 * SQL without the indentation of the code around it. Each fragment in it is indented like the line where it stands, and
 * further where something precedes it on that line: the whole statement can be read in db/statements.sql and in PostgreSQL's log.
 */
export function sqlText(parts: TemplateStringsArray, ...fragments: (string | number)[]): string {
  const text = parts.reduce(
    (before, part, index) => before + indentAfter(before, fragments[index - 1]) + part,
  )
  const lines = text.trimEnd().replace(/^\n/, '').split('\n')
  const indents = lines.filter((line) => line.trim() !== '').map((line) => line.search(/\S/))
  const common = Math.min(...indents)
  return lines.map((line) => line.slice(common)).join('\n')
}

function indentAfter(before: string, fragment: string | number | undefined): string {
  const line = before.slice(before.lastIndexOf('\n') + 1)
  const indent = line.trim() === '' ? line : `${line.slice(0, line.search(/\S/))}  `
  return String(fragment).replaceAll('\n', `\n${indent}`)
}

const itemsPerLine = 6

/** SQL of a list, in lines that can be read. */
export function sqlList(items: readonly string[]): string {
  const lines = Array.from({ length: Math.ceil(items.length / itemsPerLine) }, (_, line) =>
    items.slice(line * itemsPerLine, (line + 1) * itemsPerLine).join(', '),
  )
  return lines.join(',\n')
}

/** A moment in SQL, as the timeline's fields tell it. */
export const isoText = (moment: string) =>
  `to_char(${moment} at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`

/**
 * SQL that is true of an id that is among those of the parameter $1. Planning doesn't see them so: where it sees that they
 * are few, PostgreSQL thinks them worth a plan of their own each time, which takes longer than the rest.
 */
export const isGiven = (id: string) => `${id} = any((select $1::uuid[])::uuid[])`

/**
 * SQL that is true of an id that is among those of a batch. It goes beside a join with the batch, whose length nobody
 * knows when the statement is planned: without it the whole table may be read.
 */
export const isOneOf = (id: string, batch: string) => `${id} = any(array(select "requestId" from ${batch}))`
