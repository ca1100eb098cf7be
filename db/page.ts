import { type SQL, sql } from 'drizzle-orm'
import type { AnyPgColumn } from 'drizzle-orm/pg-core'
import type { Place } from '../src/core/requests/list-place.ts'

/** Runs the work of one page, within what its process has for it. */
export type RunPage = <Result>(page: () => Promise<Result>) => Promise<Result>

/** Which page of a list. */
export interface PageAsked {
  limit: number
  after?: Place | undefined
}

export interface Page<Item> {
  items: Item[]
  /** After which item the next page begins; undefined if this is the last one. */
  next: Place | undefined
}

/** SQL of a time in microseconds, as a text. Exact for times up to the year 2255. */
export const microsOf = (at: string) => `(extract(epoch from ${at}) * 1000000)::bigint::text`

/** The columns that a query selects for the place of a row. */
export const placeOf = (at: AnyPgColumn, key: AnyPgColumn) => ({
  micros: sql<string>`(extract(epoch from ${at}) * 1000000)::bigint::text`,
  key: sql<string>`${key}`,
})

/** SQL of the time of a place. */
const timeOf = ({ micros }: Place) =>
  sql`(timestamptz 'epoch' + ${micros}::float8 * interval '1 microsecond')`

/** SQL that is true for an item after the place, in a list that begins with the oldest. */
export const isAfter = (at: AnyPgColumn, key: AnyPgColumn, after: Place | undefined): SQL | undefined =>
  after && sql`(${at}, ${key}) > (${timeOf(after)}, ${after.key})`

/** @param rows one more than the limit, if there are more. */
export function pageOf<Row extends { place: Place }>(
  rows: readonly Row[],
  limit: number,
): Page<Omit<Row, 'place'>> {
  const page = rows.slice(0, limit)
  return {
    items: page.map(({ place: _, ...item }) => item),
    next: rows.length > limit ? page.at(-1)?.place : undefined,
  }
}
