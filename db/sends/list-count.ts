import type { Database } from '../connection/client.ts'
import { sqlText } from '../statement.ts'
import { isOfNone } from './list.ts'
import { Values } from './list-order.ts'
import { ownerOf, type SendsQuery, type Source, sourcesOf } from './list-sources.ts'

/** A list of the console is counted to so many. */
export const mostCounted = 10_000

/** The length of a list. */
export interface Count {
  count: number
  /** It may have more: enough was looked at. */
  isMore: boolean
}

/**
 * Counts the sends of a list, on all its pages.
 *
 * @param mostLookedAt limit of the sends looked at, in each of the two tables.
 */
export async function countSends(
  db: Database,
  accountId: string | undefined,
  { limit: _, after: _after, near: _near, ...query }: SendsQuery,
  mostLookedAt: number,
): Promise<Count> {
  const asked = { ...query, limit: 0, anyOrder: true }
  if (isOfNone(accountId, asked)) return { count: 0, isMore: false }
  const values = new Values()
  const { sends, scheduled } = await sourcesOf(db, accountId ?? (await ownerOf(db, asked)), asked, values)
  const parts = [
    ...(sends ? [countOf('sends', sends, mostLookedAt)] : []),
    ...(scheduled ? [countOf('scheduled_sends', scheduled, mostLookedAt)] : []),
  ]
  if (parts.length === 0) return { count: 0, isMore: false }
  const { rows } = await db.$client.query<Count>(
    sqlText`
      select sum(c.count)::int as count, bool_or(c.looked_at >= ${mostLookedAt}) as "isMore"
      from (
        ${parts.join('\nunion all\n')}) c`,
    values.list,
  )
  return rows[0] ?? { count: 0, isMore: false }
}

/** In the order of the page, so that both look at the same sends. */
const countOf = (table: string, { found, checked, scan = '' }: Source, mostLookedAt: number) => sqlText`
  (select count(*) as looked_at, count(*) filter (where ${checked}) as count
   from (
     select * from ${table} s
     where ${found}
     ${scan} limit (select ${mostLookedAt})) s)`
