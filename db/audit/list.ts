import { MAX, NIL } from 'uuid'
import type { ActorVia } from '../../src/core/accounts/actor.ts'
import type { AuditAction, AuditDetail } from '../../src/core/accounts/audit.ts'
import type { Place } from '../../src/core/requests/list-place.ts'
import type { Database } from '../connection/client.ts'
import type { Page, PageAsked } from '../page.ts'
import { microsOf } from '../page.ts'
import { type Count, mostCounted } from '../sends/list-count.ts'
import { prepared, sqlText } from '../statement.ts'

/** Which rows of the audit. Absent filters match all. */
export interface AuditFilters {
  target?: string | undefined
  by?: string | undefined
  action?: AuditAction | undefined
  /** At this time or later. */
  from?: Date | undefined
  /** Before this time. */
  to?: Date | undefined
}

export interface RecordedChange {
  id: string
  at: Date
  by: string
  via: ActorVia
  address: string | null
  action: AuditAction
  target: string | null
  details: Record<string, AuditDetail>
}

/** Limit of the rows looked at for a page. */
export const maxLookedAt = 10_000

type Row = { [Name in keyof RecordedChange]: RecordedChange[Name] | null } & {
  micros: string | null
  endId: string | null
  endMicros: string | null
}

const newestFirst = (of: string) => `order by ${of}.at desc, ${of}.id desc`

const matches = sqlText`
  coalesce(l.target = $1::text, $1 is null) and coalesce(l.by = $2::text, true)
    and coalesce(l.action = $3::text, true)`

/** The indexes by which rows are looked at; the other filters are checked after that. */
const whichRows = { ofTarget: 'a.target = $1', ofPerson: 'a.by = $2', ofAll: 'true' }

/** @param which SQL that is true for the rows to look at. */
const pageBy = (name: string, purpose: string, which: string) =>
  prepared<Row>(
    name,
    purpose,
    sqlText`
      -- $1: the target, null for all; $2: the person; $3: the action; $4: since when; $5: before this time, in microseconds;
      -- $6: of those, before this row; $7: how many to look at; $8: the limit of the page, and one more.
      with
      -- The next rows, matching or not, so that every page takes about the same time.
      looked_at as materialized (
        select a.* from audit a
        where ${which} and a.at >= $4::timestamptz
          and (a.at, a.id) < (coalesce(timestamptz 'epoch' + $5::float8 * interval '1 microsecond', 'infinity'), $6::uuid)
        ${newestFirst('a')} limit (select $7::int)),
      page as materialized (
        select * from looked_at l
        where ${matches}
        ${newestFirst('l')} limit $8),
      -- The last one that was looked at, if there may be more.
      last as materialized (
        select * from looked_at l
        ${newestFirst('l')} offset (select $7::int - 1) limit 1)
      select p.at, p.by, p.via, p.address, p.action, p.target, p.details, p.id,
             ${microsOf('p.at')} as micros,
             last.id as "endId", ${microsOf('last.at')} as "endMicros"
      from (select) one left join last on true left join page p on true
      ${newestFirst('p')}`,
  )

const ofTarget = pageBy('audit_of_target', 'Lists a page of the changes of a target.', whichRows.ofTarget)
const ofPerson = pageBy('audit_of_person', "Lists a page of a person's changes.", whichRows.ofPerson)
const ofAll = pageBy('audit_by_time', 'Lists a page of all changes.', whichRows.ofAll)

const countBy = (name: string, purpose: string, which: string) =>
  prepared<Count>(
    name,
    purpose,
    sqlText`
      -- $1: the target, null for all; $2: the person; $3: the action; $4: since when; $5: before this time.
      select count(*) filter (where ${matches})::int as count, count(*) > ${mostCounted} as "isMore"
      from (
        select a.* from audit a
        where ${which} and a.at >= $4::timestamptz and a.at < $5::timestamptz
        ${newestFirst('a')} limit ${mostCounted + 1}) l`,
  )

const countOfTarget = countBy('count_audit_of_target', 'Counts the changes of a target.', whichRows.ofTarget)
const countOfPerson = countBy('count_audit_of_person', "Counts a person's changes.", whichRows.ofPerson)
const countOfAll = countBy('count_audit', 'Counts all changes.', whichRows.ofAll)

/** How many rows of the audit match. Only the newest ones are looked at. */
export async function countAudit(
  db: Database,
  { target, by, action, from, to }: AuditFilters,
): Promise<Count> {
  const count = target !== undefined ? countOfTarget : by !== undefined ? countOfPerson : countOfAll
  const times = [from ?? '-infinity', to ?? 'infinity']
  const [found] = await count(db, [target ?? null, by ?? null, action ?? null, ...times])
  return found ?? { count: 0, isMore: false }
}

/** A page of the audit, the newest first. It may be short although there are more. */
export async function pageOfAudit(
  db: Database,
  { limit, after, target, by, action, from, to }: PageAsked & AuditFilters,
  mostLookedAt = maxLookedAt,
): Promise<Page<RecordedChange>> {
  const list = target !== undefined ? ofTarget : by !== undefined ? ofPerson : ofAll
  const { micros, key } = after ?? { micros: to ? String(to.getTime() * 1000) : null, key: to ? NIL : MAX }
  const filters = [target ?? null, by ?? null, action ?? null, from ?? '-infinity']
  const rows = await list(db, [...filters, micros, key, mostLookedAt, limit + 1])
  const found = rows.filter(({ id }) => id !== null)
  const page = found.slice(0, limit)
  const next = found.length > limit ? placeOf(page.at(-1)) : endOf(rows[0])
  return { items: page.map(changeOf), next }
}

const changeOf = ({ id, at, by, via, address, action, target, details }: Row) =>
  ({ id, at, by, via, address, action, target, details }) as RecordedChange

const placeOf = (row: Row | undefined): Place | undefined =>
  row?.micros && row.id ? { micros: row.micros, key: row.id } : undefined

/** After all that was looked at. */
const endOf = (row: Row | undefined): Place | undefined =>
  row?.endMicros && row.endId ? { micros: row.endMicros, key: row.endId } : undefined
