import type { ListCursor } from '../../src/core/requests/list-query.ts'
import { canBeRecordId } from '../../src/core/requests/record-id.ts'
import type { SendRecord } from '../../src/core/sends/timeline.ts'
import type { Database } from '../connection/client.ts'
import { sqlText } from '../statement.ts'
import { recordOfScheduled, recordOfSend } from './both-tables.ts'
import { type Order, Values } from './list-order.ts'
import { ownerOf, type SendsQuery, type Source, type Sources, sourcesOf } from './list-sources.ts'

export type { SendsQuery } from './list-sources.ts'

/** A send of a list. */
export interface ListedSend extends SendRecord {
  accountId: string
  /** Whether it waits for its time. */
  isScheduled: boolean
}

export interface ListPage {
  sends: ListedSend[]
  /** Where the next page begins; undefined if this is the last one. */
  next: ListCursor | undefined
  /** Until when was looked, where the page ends because enough was looked at. */
  lookedBackTo: Date | undefined
}

const micros = 'extract(epoch from s.accepted_at) * 1000000'
/** Limit of the sends looked at for a page, in each of the two tables. */
export const maxLookedAt = 30_000
/**
 * A page of sends, newest first. An account's are ordered by the time of the accept and the id, which never change: so each send
 * that is there from the first page to the last is on exactly one, even if it moves from one table to the other. One statement reads
 * both.
 *
 * @param accountId undefined for all accounts, in the order of their ids.
 */
export async function listSends(
  db: Database,
  accountId: string | undefined,
  query: SendsQuery,
  mostLookedAt = maxLookedAt,
): Promise<ListPage> {
  const none = { sends: [], next: undefined, lookedBackTo: undefined }
  if (isOfNone(accountId, query)) return none
  const values = new Values()
  const sources = await sourcesOf(db, accountId ?? (await ownerOf(db, query)), query, values)
  if (!sources.sends && !sources.scheduled) return none
  const text = pageStatement(sources, mostLookedAt, query.limit)
  const { rows } = await db.$client.query<PageRow>(text, values.list)
  return asPage(rows, query.limit, sources.order)
}

/** Ids are opaque: one that no record can have is that of none. */
export const isOfNone = (accountId: string | undefined, { channelId, flowId }: SendsQuery): boolean =>
  [accountId, channelId, flowId].some((id) => id !== undefined && !canBeRecordId(id))

type PageRow = ListedSend & { micros: string; source: string; endMicros: string | null; endId: string | null }

const place = (acceptedAtMicros: string, requestId: string): ListCursor => ({ acceptedAtMicros, requestId })

function asPage(rows: readonly PageRow[], limit: number, { isUpTo }: Order): ListPage {
  const [{ endMicros, endId } = { endMicros: null, endId: null }] = rows
  const end = endMicros !== null && endId !== null ? place(endMicros, endId) : undefined
  // Sends after the end of what was looked at, in the other table, are on a later page.
  const found = rows.filter(
    ({ micros, requestId }) => requestId !== null && (!end || isUpTo(place(micros, requestId), end)),
  )
  const page = found.slice(0, limit)
  const last = page.at(-1)
  const sends = page.map(sendOf)
  if (found.length > limit && last)
    return { sends, next: place(last.micros, last.requestId), lookedBackTo: undefined }
  return { sends, next: end, lookedBackTo: end && new Date(Number(end.acceptedAtMicros) / 1000) }
}

const sendOf = (row: PageRow): ListedSend => {
  const { micros: _, source, endMicros: _endMicros, endId: _endId, ...record } = row
  return { ...record, isScheduled: source === 'scheduled_sends' }
}

/**
 * Reads the page, and of each table that doesn't fill it, the last send that was looked at: the page ends there, even if the
 * other table has more. All in one snapshot: otherwise a send accepted in between would shift the end.
 */
function pageStatement({ order, ...of }: Sources, mostLookedAt: number, limit: number): string {
  const tables: TablePart[] = [
    ...(of.sends ? [{ table: 'sends', columns: recordOfSend, source: of.sends }] : []),
    ...(of.scheduled ? [{ table: 'scheduled_sends', columns: recordOfScheduled, source: of.scheduled }] : []),
  ]
  const parts = tables.map((part) => pagePart(part, order, mostLookedAt, limit))
  const ends = tables.flatMap(({ table, source: { found, scan } }) =>
    scan === undefined
      ? []
      : [
          sqlText`
            (select s.accepted_at, s.request_id from ${table} s
             where ${found}
               and (select count(*) from found where source = '${table}') <= ${limit}
             ${scan} offset (select ${mostLookedAt - 1}) limit 1)`,
        ],
  )
  const sorted = order.newestFirst
    .replaceAll('s.accepted_at', '"acceptedAt"')
    .replaceAll('s.request_id', '"requestId"')
  // Materialized, so that the end isn't looked for again for each row of the page.
  return sqlText`
    with found as materialized (
      ${parts.join('\nunion all\n')}),
    page as (
      select * from found ${sorted} limit ${limit + 1}),
    ends as materialized (
      select s.accepted_at, s.request_id
      from (
        ${[noEnd, ...ends].join('\nunion all\n')}) s
      ${order.newestFirst} limit 1)
    select page.*, (${micros})::bigint::text as "endMicros", s.request_id as "endId"
    from (select) one left join page on true left join ends s on true
    ${sorted}`
}

/** A union needs a part, and names. */
const noEnd = '(select null::timestamptz as accepted_at, null::uuid as request_id where false)'

interface TablePart {
  table: string
  columns: string
  source: Source
}

/**
 * The limit is a subquery, so that the planner doesn't know it: for so many sends that it takes for all, it might sort them instead
 * of reading them in order.
 */
function pagePart(
  { table, columns, source: { found, checked, scan } }: TablePart,
  { newestFirst }: Order,
  mostLookedAt: number,
  limit: number,
): string {
  const limited = scan === undefined ? '' : `${scan} limit (select ${mostLookedAt})`
  return sqlText`
    (select ${columns}, s.account_id as "accountId", (${micros})::bigint::text as micros, '${table}' as source
     from (
       select * from ${table} s
       where ${found}
       ${limited}) s
     where ${checked}
     ${newestFirst} limit ${limit + 1})`
}
