import { MAX, NIL } from 'uuid'
import type { ContactType } from '../../src/core/contact.ts'
import type { MessageType } from '../../src/core/message.ts'
import type { SendStatus } from '../../src/core/timeline.ts'
import type { Database } from '../client.ts'

/** What sends are looked for by; what is absent doesn't matter. */
export interface SendSearch {
  channelIds?: string[] | undefined
  /** Normalised. */
  contactValue?: string | undefined
  /** Any of these: what the provider of its last attempt calls it. No index leads to them. */
  providerMessageIds?: string[] | undefined
  status?: SendStatus | undefined
  /** Accepted from then on … */
  from?: Date | undefined
  /** … and before then. */
  to?: Date | undefined
  /** The last send of the page before. */
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
  /** Where the next page begins; absent where there is none. */
  olderThan?: string
  /** With a page that isn't full: the search has looked at all it looks at in one go, back to then. */
  lookedBackTo?: Date
}

export const pageSize = 50
/** Where no index leads to what is looked for. */
export const mostLookedAt = 100_000

const columns = `
  s.request_id as "requestId", s.accepted_at as "acceptedAt", s.status, s.attempt as attempts, s.failure,
  s.message_type as "messageType", s.contact_type as "contactType", s.contact_value as "contactValue",
  s.channel_id as "channelId", c.name as "channelName"`

/** An id begins with the moment at which it was made: the primary key leads to a span of time. */
const inSpan = 's.request_id >= $1::uuid and s.request_id < $2::uuid'
const matches = `($3::uuid[] is null or s.channel_id = any($3)) and ($4::text is null or s.status = $4)`
const isOfProvider = (ids: string) => `(${ids}::text[] is null or s.provider_message_id = any(${ids}))`
const onePage = `limit ${pageSize + 1}`

const ofContact = `
  select ${columns} from sends s join channels c on c.id = s.channel_id
  where s.contact_value = $5 and ${inSpan} and ${matches} and ${isOfProvider('$6')}
  order by s.request_id desc ${onePage}`

/**
 * Channel by channel, for that is how `sends_waiting` and `sends_not_sent` begin; and by `seq`, for to have them in the
 * order of the primary key all sends might be read.
 */
const byChannel = (condition: string) => `
  select ${columns} from channels c cross join lateral (
    select * from sends s
    where s.channel_id = c.id and ${condition} and ${inSpan} and ${matches}
      and ($5::uuid is null or s.seq < (select seq from sends where request_id = $5))
    order by s.seq desc ${onePage}) s
  where $3::uuid[] is null or c.id = any($3)
  order by s.seq desc ${onePage}`

const newest = `
  select ${columns} from (
    select * from sends s where ${inSpan} order by s.request_id desc limit $5) s
  join channels c on c.id = s.channel_id
  where ${matches} and ${isOfProvider('$6')}
  order by s.request_id desc ${onePage}`

const endOfLook = `
  select s.request_id as "requestId", s.accepted_at as "acceptedAt" from sends s
  where ${inSpan} order by s.request_id desc offset $3 - 1 limit 1`

/**
 * A page of sends, the newest first.
 *
 * @param lookedAtOnce how many sends are looked at where no index leads to those that match: what a page costs doesn't
 * grow with history.
 */
export async function searchSends(
  db: Database,
  search: SendSearch,
  lookedAtOnce = mostLookedAt,
): Promise<SearchPage> {
  const { contactValue, providerMessageIds = null, channelIds = null, status = null } = search
  const { from, to, before = null } = search
  const span = [from ? firstIdAt(from) : NIL, to ? firstIdAt(to) : MAX]
  const spanBefore = [span[0], before !== null && before < (span[1] ?? '') ? before : span[1]]
  const query = async (text: string, values: unknown[]) =>
    (await db.$client.query<FoundSend>(text, values)).rows

  if (contactValue !== undefined)
    return asPage(
      await query(ofContact, [...spanBefore, channelIds, status, contactValue, providerMessageIds]),
    )
  const index = providerMessageIds ? undefined : indexFor(status)
  if (index !== undefined) return asPage(await query(byChannel(index), [...span, channelIds, status, before]))

  const filters = [channelIds, status, lookedAtOnce, providerMessageIds]
  const page = asPage(await query(newest, [...spanBefore, ...filters]))
  if (page.olderThan !== undefined) return page
  const [end] = await query(endOfLook, [...spanBefore, lookedAtOnce])
  return end ? { ...page, olderThan: end.requestId, lookedBackTo: end.acceptedAt } : page
}

/** The condition of the index by channel that has the sends of that status, and few others. */
function indexFor(status: SendStatus | null): string | undefined {
  if (status === 'queued' || status === 'sending') return 's.finished_at is null'
  if (status === 'failed' || status === 'uncertain') return 's.failure is not null'
  return undefined
}

function asPage(found: FoundSend[]): SearchPage {
  const sends = found.slice(0, pageSize)
  const last = sends.at(-1)
  return found.length > pageSize && last ? { sends, olderThan: last.requestId } : { sends }
}

/** Ids that are made from that moment on are not lower. */
function firstIdAt(moment: Date): string {
  const ms = Math.max(0, moment.getTime()).toString(16).padStart(12, '0')
  return `${ms.slice(0, 8)}-${ms.slice(8)}${NIL.slice(13)}`
}
