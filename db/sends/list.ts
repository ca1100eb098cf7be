import type { ListCursor, ListQuery } from '../../src/core/list-query.ts'
import { canBeRecordId } from '../../src/core/record-id.ts'
import type { SendRecord } from '../../src/core/timeline.ts'
import type { Database } from '../client.ts'
import { postedChannel } from '../posted-channel.ts'
import { sqlText } from '../statement.ts'
import { providerCodeOfSend, recordOfScheduled, recordOfSend } from './both-tables.ts'

export interface ListPage {
  sends: SendRecord[]
  /** Where the next page begins; undefined if this is the last one. */
  next: ListCursor | undefined
}

/** Limit of the sends looked at for a page, in each of the two tables. */
export const maxLookedAt = 30_000
/** Up to so many sends of a contact, or unfinished ones, are found by their own index, and sorted. */
const few = 2000

const micros = 'extract(epoch from s.accepted_at) * 1000000'
const newestFirst = 'order by s.accepted_at desc, s.request_id desc'

/** Numbers the values of a statement as they are used. */
class Values {
  readonly list: unknown[] = []
  add = (value: unknown): string => `$${this.list.push(value)}`
}

/** Where a statement finds its sends: the conditions of the index that it uses, and those that it checks on each send. */
interface Source {
  found: string
  checked: string
  /** Whether `found` is so narrow that all are read. Otherwise they are read in their order, up to the limit. */
  isNarrow: boolean
}

/**
 * A page of an account's sends, newest first, by the time of the accept and the id, which never change: so each send that is there
 * from the first page to the last is on exactly one, even if it moves from one table to the other. One statement reads both.
 */
export async function listSends(
  db: Database,
  accountId: string,
  query: ListQuery,
  lookedAt = maxLookedAt,
): Promise<ListPage> {
  const ids = [query.channelId, query.flowId]
  // Ids are opaque: one that no record can have is that of none.
  if (ids.some((id) => id !== undefined && !canBeRecordId(id))) return { sends: [], next: undefined }
  const values = new Values()
  const [ofSends, ofScheduled] = await sourcesOf(db, accountId, query, values)
  const text = pageStatement(ofSends, ofScheduled, lookedAt, query.limit)
  const { rows } = await db.$client.query<PageRow>(text, values.list)
  return asPage(rows, query.limit)
}

type PageRow = SendRecord & { micros: string; source: string; endMicros: string | null; endId: string | null }

function asPage(rows: readonly PageRow[], limit: number): ListPage {
  const [{ endMicros, endId } = { endMicros: null, endId: null }] = rows
  const end =
    endMicros !== null && endId !== null ? { acceptedAtMicros: endMicros, requestId: endId } : undefined
  // Those after the end of what was looked at, in the other table, are on a later page.
  const isBeforeEnd = ({ micros, requestId }: PageRow) =>
    !end ||
    BigInt(micros) > BigInt(end.acceptedAtMicros) ||
    (micros === end.acceptedAtMicros && requestId >= end.requestId)
  const found = rows.filter((row) => row.requestId !== null && isBeforeEnd(row))
  const page = found.slice(0, limit)
  const last = page.at(-1)
  return {
    sends: page.map(recordOf),
    next: found.length > limit && last ? { acceptedAtMicros: last.micros, requestId: last.requestId } : end,
  }
}

const recordOf = (row: PageRow): SendRecord => {
  const { micros: _, source: _source, endMicros: _endMicros, endId: _endId, ...record } = row
  return record
}

async function sourcesOf(
  db: Database,
  accountId: string,
  query: ListQuery,
  values: Values,
): Promise<[Source, Source | undefined]> {
  const account = values.add(accountId)
  const conditions = filtersOf(query, values)
  const place = placeOf(query, values)
  const inOrder = [`s.account_id = ${account}`, ...place]
  const { contact, status, delivery, reference, providerCode } = query
  const scheduled =
    (status === undefined || status === 'queued') && delivery === undefined && providerCode === undefined
  const source = (found: readonly string[], checked: readonly string[], isNarrow: boolean): Source => ({
    found: found.join(' and '),
    checked: checked.join(' and ') || 'true',
    isNarrow,
  })
  const pair = (sends: Source, ofScheduled: Source): [Source, Source | undefined] => [
    sends,
    scheduled ? ofScheduled : undefined,
  ]
  if (reference !== undefined) {
    const found = [`s.reference = ${values.add(reference)}`, ...inOrder]
    return pair(source(found, conditions.ofSends, false), source(found, conditions.ofScheduled, false))
  }
  if (contact !== undefined) {
    const theirs = `s.contact_value = ${values.add(contact.value)}`
    const areFew = async (table: string) =>
      await hasFew(db, `select from ${table} s where s.contact_value = $1`, [contact.value])
    const [fewSends, fewScheduled] = [await areFew('sends'), await areFew('scheduled_sends')]
    return pair(
      fewSends
        ? source([theirs], [...inOrder, ...conditions.ofSends], true)
        : source(inOrder, conditions.ofSends, false),
      fewScheduled
        ? source([theirs], [...inOrder, ...conditions.ofScheduled], true)
        : source(inOrder, conditions.ofScheduled, false),
    )
  }
  const ordered = source(inOrder, conditions.ofScheduled, false)
  if (status === 'queued' || status === 'sending') {
    const unfinished = (number: string) =>
      `s.channel_id = any(array(select id from channels where account_id = ${number})) and s.finished_at is null`
    if (await hasFew(db, `select from sends s where ${unfinished('$1')}`, [accountId]))
      return pair(source([unfinished(account)], [...inOrder, ...conditions.ofSends], true), ordered)
  }
  return pair(source(inOrder, conditions.ofSends, false), ordered)
}

async function hasFew(db: Database, matching: string, values: unknown[]): Promise<boolean> {
  const { rows } = await db.$client.query<{ count: number }>(
    `select count(*)::int as count from (${matching} limit ${few + 1}) matching`,
    values,
  )
  return (rows[0]?.count ?? 0) <= few
}

/** Conditions on a send of each of the two tables. */
function filtersOf(query: ListQuery, values: Values): { ofScheduled: string[]; ofSends: string[] } {
  const { status, delivery, channelId, flowId, contact, providerCode } = query
  const channel = channelId === undefined ? undefined : `${values.add(channelId)}::uuid`
  const ofChannel = (column: string) => (channel === undefined ? [] : [`${column} = ${channel}`])
  const anywhere = [
    flowId !== undefined && `s.flow_id = ${values.add(flowId)}::uuid`,
    contact !== undefined &&
      `s.contact_type = ${values.add(contact.type)} and s.contact_value = ${values.add(contact.value)}`,
  ].filter((condition) => condition !== false)
  const ofSends = [
    status !== undefined && `s.status = ${values.add(status)}`,
    delivery !== undefined && `s.delivery = ${values.add(delivery)}`,
    providerCode !== undefined && `${providerCodeOfSend} = ${values.add(providerCode)}`,
  ].filter((condition) => condition !== false)
  return {
    ofScheduled: [...ofChannel('s.channel_id'), ...anywhere],
    ofSends: [...ofChannel(postedChannel), ...anywhere, ...ofSends],
  }
}

/** Conditions on the place in the order. */
function placeOf({ after, acceptedFrom, acceptedTo }: ListQuery, values: Values): string[] {
  return [
    acceptedFrom !== undefined && `s.accepted_at >= ${values.add(acceptedFrom)}::timestamptz`,
    acceptedTo !== undefined && `s.accepted_at < ${values.add(acceptedTo)}::timestamptz`,
    after !== undefined &&
      `(s.accepted_at, s.request_id) < (timestamptz 'epoch' + ${values.add(after.acceptedAtMicros)}::float8 * interval '1 microsecond', ${values.add(after.requestId)}::uuid)`,
  ].filter((condition) => condition !== false)
}

/**
 * Reads the page, and of each table that doesn't fill it, the last send that was looked at: the page ends there, even if the
 * other table has more. All in one snapshot: otherwise a send accepted in between would shift the end.
 */
function pageStatement(
  sends: Source,
  scheduled: Source | undefined,
  lookedAt: number,
  limit: number,
): string {
  const sources = [
    { table: 'sends', columns: recordOfSend, source: sends },
    ...(scheduled ? [{ table: 'scheduled_sends', columns: recordOfScheduled, source: scheduled }] : []),
  ]
  const parts = sources.map((part) => pagePart(part, lookedAt, limit))
  const ends = sources
    .filter(({ source }) => !source.isNarrow)
    .map(
      ({ table, source }) => sqlText`
        (select s.accepted_at, s.request_id from ${table} s
         where ${source.found}
           and (select count(*) from found where source = '${table}') <= ${limit}
         ${newestFirst} offset (select ${lookedAt - 1}) limit 1)`,
    )
  // Materialized, so that the end isn't looked for again for each row of the page.
  return sqlText`
    with found as materialized (
      ${parts.join('\nunion all\n')}),
    page as (
      select * from found order by "acceptedAt" desc, "requestId" desc limit ${limit + 1}),
    ends as materialized (
      select s.accepted_at, s.request_id
      from (
        ${[noEnd, ...ends].join('\nunion all\n')}) s
      ${newestFirst} limit 1)
    select page.*, (${micros})::bigint::text as "endMicros", s.request_id as "endId"
    from (select) one left join page on true left join ends s on true
    order by page."acceptedAt" desc, page."requestId" desc`
}

/** A union needs a part, and names. */
const noEnd = '(select null::timestamptz as accepted_at, null::uuid as request_id where false)'

/**
 * The limit is a subquery, so that the planner doesn't know it: for so many sends that it takes for all, it might sort them instead
 * of reading them in order.
 */
function pagePart(
  { table, columns, source }: { table: string; columns: string; source: Source },
  lookedAt: number,
  limit: number,
): string {
  const rows = source.isNarrow
    ? sqlText`
        select * from ${table} s
        where ${source.found}`
    : sqlText`
        select * from ${table} s
        where ${source.found}
        ${newestFirst} limit (select ${lookedAt})`
  return sqlText`
    (select ${columns}, (${micros})::bigint::text as micros, '${table}' as source
     from (
       ${rows}) s
     where ${source.checked}
     ${newestFirst} limit ${limit + 1})`
}
