import type { QueryResultRow } from 'pg'
import type { Database, Transaction } from './connection/client.ts'

/** All prepared statements, by name: `npm run statements` writes them to db/statements.sql. */
export const statements = new Map<string, { purpose: string; text: string }>()

/**
 * Creates a prepared statement for the hot path: prepared once per connection, without the query builder.
 *
 * Many rows are sent as one JSON parameter, which the statement expands, whatever the number of columns
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
 * Names for the parameters of a statement that has so many that their numbers say nothing.
 *
 * @param meanings of each parameter, in the order of their numbers: by its name, what it is.
 */
export function namedParameters<Name extends string>(meanings: Record<Name, string>) {
  const names = Object.keys(meanings) as Name[]
  const numbers = names.map((name, index) => [name, `$${index + 1}`] as const)
  return {
    /** SQL of each parameter. */
    sql: Object.fromEntries(numbers) as Record<Name, string>,
    /** A comment for the statement: what each number is. */
    comment: numbers.map(([name, number]) => `-- ${number}: ${meanings[name]}`).join('\n'),
    /** The values in the order of their numbers. */
    valuesOf: (given: Record<Name, unknown>): unknown[] => names.map((name) => given[name]),
  }
}

/**
 * SQL without the indentation of the code around it. Each inserted fragment is indented like its line, or further if it isn't the
 * first on its line, so that the whole statement is readable in db/statements.sql and in PostgreSQL's log.
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

const longestListLine = 80

/** SQL of a list, broken into short lines. */
export function sqlList(items: readonly string[]): string {
  const lines: string[] = []
  for (const item of items) {
    const longer = lines.length > 0 ? `${lines.at(-1)}, ${item}` : item
    if (longer.length <= longestListLine) lines.splice(-1, 1, longer)
    else lines.push(item)
  }
  return lines.join(',\n')
}

/** SQL that formats a time like the timeline's fields. */
export const isoText = (moment: string) =>
  `to_char(${moment} at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`

/**
 * SQL that is true for an id in the parameter $1. In this form the planner can't see the ids. If it saw that they are few,
 * PostgreSQL would make a new plan each time, which takes longer than running the statement.
 */
export const isGiven = (id: string) => `${id} = any((select $1::uuid[])::uuid[])`

/**
 * SQL that is true for an id in a batch. Add it to a join with the batch: the planner doesn't know the batch's length, and without
 * this condition it may read the whole table.
 */
export const isOneOf = (id: string, batch: string) => `${id} = any(array(select "requestId" from ${batch}))`
