import { MAX, NIL } from 'uuid'
import type { ContactType } from '../../src/core/contact.ts'
import type { MessageType } from '../../src/core/message.ts'
import { firstIdAt } from '../../src/core/record-id.ts'
import type { SendStatus } from '../../src/core/timeline.ts'
import type { Database } from '../client.ts'

/** The filters of a search. Absent ones match all. */
export interface SendSearch {
  channelIds?: string[] | undefined
  /** Normalised. */
  contactValue?: string | undefined
  /** Any of these ids, given by the provider at the last attempt. There is no index for them. */
  providerMessageIds?: string[] | undefined
  /** The client's own id. */
  reference?: string | undefined
  /** `queued` leaves out scheduled sends. */
  status?: SendStatus | 'scheduled' | undefined
  /** Accepted at or after this time. */
  from?: Date | undefined
  /** Accepted before this time. */
  to?: Date | undefined
  /** The last send of the previous page. */
  before?: string | undefined
}

export interface FoundSend {
  requestId: string
  acceptedAt: Date
  status: SendStatus
  attempts: number
  failure: string | null
  messageType: MessageType
  contactType: ContactType
  contactValue: string
  channelId: string
  channelName: string
}

export interface SearchPage {
  sends: FoundSend[]
  /** The start of the next page; absent if there is none. */
  olderThan?: string
  /** With a page that isn't full: the search reached its limit of sends to look at, back to this time. */
  lookedBackTo?: Date
}

export const pageSize = 50
/** Limit of the sends looked at for one page, for filters without an index. */
export const maxLookedAt = 100_000

const columns = `
  s.request_id as "requestId", s.accepted_at as "acceptedAt", s.status, s.attempt as attempts, s.failure,
  s.message_type as "messageType", s.contact_type as "contactType", s.contact_value as "contactValue",
  s.channel_id as "channelId", c.name as "channelName"`

/** An id begins with its time, so the primary key finds a span of time. */
const inSpan = 's.request_id >= $1::uuid and s.request_id < $2::uuid'
const matches = `($3::uuid[] is null or s.channel_id = any($3)) and ($4::text is null or s.status = $4)`
const isOfReference = (reference: string) => `(${reference}::text is null or s.reference = ${reference})`
const isOfProvider = (ids: string) => `(${ids}::text[] is null or s.provider_message_id = any(${ids}))`
const onePage = `limit ${pageSize + 1}`

const ofContact = `
  select ${columns} from sends s join channels c on c.id = s.channel_id
  where s.contact_value = $5 and ${inSpan} and ${matches} and ${isOfProvider('$6')} and ${isOfReference('$7')}
  order by s.request_id desc ${onePage}`

/** Of a reference that more sends have than are looked at, not all are found. */
const ofReference = `
  select ${columns} from (
    select * from sends s where s.reference = $5 limit ${maxLookedAt}) s
  join channels c on c.id = s.channel_id
  where ${inSpan} and ${matches} and ${isOfProvider('$6')} and ${isOfReference('$7')}
  order by s.request_id desc ${onePage}`

/** SQL of the scheduled sends of a search; `some` selects those to look at. */
const scheduled = (some: string) => `
  select s.request_id as "requestId", s.accepted_at as "acceptedAt", 'queued' as status, 0 as attempts, null as failure,
         s.message_type as "messageType", s.contact_type as "contactType", s.contact_value as "contactValue",
         s.channel_id as "channelId", c.name as "channelName"
  from (${some}) s join channels c on c.id = s.channel_id
  where ($3::uuid[] is null or s.channel_id = any($3))
  order by s.request_id desc ${onePage}`

const scheduledOf = (column: 'contact_value' | 'reference') =>
  scheduled(`select * from scheduled_sends s where s.${column} = $4 and ${inSpan} and ${isOfReference('$5')}`)
const newestScheduled = scheduled(
  `select * from scheduled_sends s where ${inSpan} order by s.request_id desc limit (select $4::int)`,
)

/**
 * Searches channel by channel, because the indexes `sends_waiting` and `sends_not_sent` begin with the channel; and by `seq`,
 * because in the order of the primary key PostgreSQL might read all sends.
 */
const byChannel = (condition: string) => `
  select ${columns} from channels c cross join lateral (
    select * from sends s
    where s.channel_id = c.id and ${condition} and ${inSpan} and ${matches}
      and ($5::uuid is null or s.seq < (select seq from sends where request_id = $5))
    order by s.seq desc ${onePage}) s
  where $3::uuid[] is null or c.id = any($3)
  order by s.seq desc ${onePage}`

/**
 * The number is a subquery, so that the planner doesn't know it: it might take it for all sends of the span, and sort them instead of
 * reading them in order.
 */
const newest = `
  select ${columns} from (
    select * from sends s where ${inSpan} order by s.request_id desc limit (select $5::int)) s
  join channels c on c.id = s.channel_id
  where ${matches} and ${isOfProvider('$6')}
  order by s.request_id desc ${onePage}`

const lastLookedAt = (table: 'sends' | 'scheduled_sends') => `
  select s.request_id as "requestId", s.accepted_at as "acceptedAt" from ${table} s
  where ${inSpan} order by s.request_id desc offset (select $3::int - 1) limit 1`

/**
 * A page of sends, newest first.
 *
 * @param lookedAtOnce how many sends are looked at for filters without an index, so that a page's cost doesn't grow with history.
 */
export async function searchSends(
  db: Database,
  search: SendSearch,
  lookedAtOnce = maxLookedAt,
): Promise<SearchPage> {
  const { contactValue, reference, providerMessageIds = null, channelIds = null, status = null } = search
  const { from, to, before = null } = search
  const span = [from ? firstIdAt(from.getTime()) : NIL, to ? firstIdAt(to.getTime()) : MAX]
  const spanBefore = [span[0], before !== null && before < (span[1] ?? '') ? before : span[1]]
  const query = async (text: string, values: unknown[]) =>
    (await db.$client.query<FoundSend>(text, values)).rows

  const hasSends = status !== 'scheduled'
  const hasScheduled = status === 'scheduled' || (status === null && providerMessageIds === null)
  const queryOf = {
    sends: async (text: string, filters: unknown[]) =>
      hasSends ? await query(text, [...spanBefore, ...filters]) : [],
    scheduled: async (text: string, filters: unknown[]) =>
      hasScheduled ? await query(text, [...spanBefore, ...filters]) : [],
  }
  const indexed = contactValue ?? reference
  if (indexed !== undefined) {
    const [text, column] =
      contactValue === undefined
        ? ([ofReference, 'reference'] as const)
        : ([ofContact, 'contact_value'] as const)
    const later = await queryOf.scheduled(scheduledOf(column), [channelIds, indexed, reference])
    const filters = [channelIds, status, indexed, providerMessageIds, reference]
    return asPage(merged(await queryOf.sends(text, filters), later))
  }
  const index = providerMessageIds ? undefined : indexFor(status)
  if (index !== undefined) return asPage(await query(byChannel(index), [...span, channelIds, status, before]))

  const later = await queryOf.scheduled(newestScheduled, [channelIds, lookedAtOnce])
  const found = await queryOf.sends(newest, [channelIds, status, lookedAtOnce, providerMessageIds])
  const isFull = (sends: readonly FoundSend[]) => sends.length > pageSize
  return upTo(merged(found, later), [
    ...(isFull(found) ? [] : await queryOf.sends(lastLookedAt('sends'), [lookedAtOnce])),
    ...(isFull(later) ? [] : await queryOf.scheduled(lastLookedAt('scheduled_sends'), [lookedAtOnce])),
  ])
}

/** The page ends where one of the tables was left, even if the other has more. */
function upTo(found: readonly FoundSend[], lastLookedAt: readonly FoundSend[]): SearchPage {
  const [end] = [...lastLookedAt].sort(newestFirst)
  if (!end) return asPage(found)
  const page = asPage(found.filter(({ requestId }) => requestId >= end.requestId))
  return page.olderThan === undefined
    ? { ...page, olderThan: end.requestId, lookedBackTo: end.acceptedAt }
    : page
}

/** The condition of the index by channel that contains the sends with this status, and few others. */
function indexFor(status: SendSearch['status'] | null): string | undefined {
  if (status === 'queued' || status === 'sending') return 's.finished_at is null'
  if (status === 'failed' || status === 'uncertain') return 's.failure is not null'
  return undefined
}

/** One that has moved between the two statements is in both. */
function merged(sends: readonly FoundSend[], later: readonly FoundSend[]): FoundSend[] {
  const moved = new Set(sends.map(({ requestId }) => requestId))
  return [...sends, ...later.filter(({ requestId }) => !moved.has(requestId))].sort(newestFirst)
}

const newestFirst = (a: FoundSend, b: FoundSend) => (a.requestId < b.requestId ? 1 : -1)

function asPage(found: readonly FoundSend[]): SearchPage {
  const sends = found.slice(0, pageSize)
  const last = sends.at(-1)
  return found.length > pageSize && last ? { sends, olderThan: last.requestId } : { sends }
}
