import type { QueryResultRow } from 'pg'
import type { Database, Transaction } from './client.ts'

/**
 * A statement of the hot path: prepared once a connection, outside the query builder.
 *
 * Many rows travel as one JSON parameter that is unfolded there, however many columns they have
 * (docs/decisions/0007-json-recordset.md).
 *
 * @param name unique in the service.
 */
export function prepared<Result extends QueryResultRow>(name: string, text: string) {
  return async (db: Database | Transaction, values: unknown[]): Promise<Result[]> => {
    const { rows } = await db.$client.query<Result>({ name, text, values })
    return rows
  }
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
