import { ownReasons } from '../../src/core/own-reasons.ts'
import type { Database } from '../client.ts'
import { prepared, sqlText } from '../statement.ts'
import { canBeReplayed, type ReplayableStatus, replaying } from './replays.ts'

/** A channel's sends that have ended so; what is absent doesn't matter. */
export interface ReplaySet {
  channelId: string
  status: ReplayableStatus
  /** So many are replayed at the most, the oldest first. */
  limit: number
  /** Accepted from then on … */
  since?: Date | undefined
  /** … and before then. */
  until?: Date | undefined
  /** A part of why they failed or are uncertain, in upper or lower case. */
  reason?: string | undefined
  /** Normalised. */
  contactValue?: string | undefined
  /** Had ended by then: not those that failed after somebody looked. */
  endedBy?: Date | undefined
  /** Not those after this one: see `Trial`. */
  lastSeq?: string | undefined
  /** Also those whose time was over, before they were sent or by now. */
  includeExpired?: boolean | undefined
  /** Also those that the provider, or the service itself, refused for good. */
  includeRefused?: boolean | undefined
}

/** What became of a set, or would: those that were left out on the way count by the reason. */
export interface ReplayedSet {
  replayed: number
  skipped: { expired: number; refused: number }
}

/** What a replay of a set would do. */
export interface Trial extends ReplayedSet {
  /** Of the last send that was counted: a set up to it never holds those that come after the limit. */
  lastSeq: string | undefined
}

/** Looked at by one statement, which has to end within the time-out of the connection. */
const pageSize = 2000

const isRefused = "coalesce(s.attempt_record->>'outcome' = 'rejected', false)"
const isExpired = sqlText`
  ((s.attempt_record is null and s.failure = '${ownReasons.expired}') or
   coalesce(s.expires_at <= clock_timestamp(), false))`

/** SQL of why a send `s` is left out; null where it isn't. By what its row keeps, not by words for people. */
const skippedAs = sqlText`
  case when ${isRefused} and not $9 then 'refused' when ${isExpired} and not $8 then 'expired' end`

const isInSet = sqlText`
  (${canBeReplayed('$2')}
  and ($3::timestamptz is null or s.accepted_at >= $3) and ($4::timestamptz is null or s.accepted_at < $4)
  and ($5::text is null or position(lower($5) in lower(s.failure)) > 0)
  and ($6::text is null or s.contact_value = $6)
  and ($7::timestamptz is null or s.finished_at <= $7))`

/** The next of a channel's sends that ended other than well, whichever they are: so no page takes longer than others. */
const page = sqlText`
  page as materialized (
    select s.request_id, s.seq, ${isInSet} as is_in_set, ${skippedAs} as skipped_as
    from sends s
    where s.channel_id = $1 and s.failure is not null and s.seq > $10::bigint and s.seq <= $12::bigint
    order by s.seq limit ${pageSize})`

/** Where it reaches the limit, what comes after the last that is replayed isn't looked at. */
const counted = sqlText`
  select (select count(*) from replayed)::int as replayed,
         count(*) filter (where is_in_set and is_passed and skipped_as = 'expired')::int as expired,
         count(*) filter (where is_in_set and is_passed and skipped_as = 'refused')::int as refused,
         max(seq) filter (where is_passed)::text as "lastCounted", max(seq)::text as "lastSeq", count(*) = ${pageSize} as "isMore"
  from (select page.*, seq <= (select max(seq) from replayed) or (select count(*) from replayed) < $11 as is_passed
        from page) page`

interface PageResult {
  replayed: number
  expired: number
  refused: number
  lastCounted: string | null
  lastSeq: string | null
  isMore: boolean
}

/** Looks at each again under its lock; those that somebody else is replaying at this moment are theirs. */
const toReplay = sqlText`
  select s.* from sends s
  where s.request_id = any(array(select request_id from page where is_in_set and skipped_as is null))
    and ${isInSet} and ${skippedAs} is null
  order by s.seq limit $11 for no key update of s skip locked`

const replayStatement = prepared<PageResult>(
  'replay_sends',
  'Queues a page of a set of failed or uncertain sends again.',
  sqlText`
    with ${page},
    ${replaying(toReplay, '$13::bigint')}
    ${counted}`,
)

const tryStatement = prepared<PageResult>(
  'try_replay',
  'Counts what replay_sends would do, without doing it.',
  sqlText`
    with ${page},
    replayed as (
      select seq from page where is_in_set and skipped_as is null order by seq limit $11)
    ${counted}`,
)

/** Queues the sends of a set again; those whose media is no longer kept, or that were erased, are not in it. */
export async function replaySends(db: Database, set: ReplaySet): Promise<ReplayedSet> {
  const { replayed, skipped } = await goThrough(set, (values, before) =>
    replayStatement(db, [...values, before]),
  )
  return { replayed, skipped }
}

/** What `replaySends` would do, without doing it. */
export function tryReplay(db: Database, set: ReplaySet): Promise<Trial> {
  return goThrough(set, (values) => tryStatement(db, values))
}

const greatestSeq = String(2n ** 63n - 1n)

/** @param nextPage gets the statement's values, and how many of the set have been replayed already. */
async function goThrough(
  set: ReplaySet,
  nextPage: (values: unknown[], before: number) => Promise<PageResult[]>,
): Promise<Trial> {
  const { since = null, until = null, reason = null, contactValue = null, endedBy = null } = set
  const { includeExpired = false, includeRefused = false, lastSeq = greatestSeq } = set
  const filters = [set.channelId, [set.status], since, until, reason, contactValue, endedBy]
  const total: Trial = { replayed: 0, skipped: { expired: 0, refused: 0 }, lastSeq: undefined }
  for (let after: string | null = '-1'; after !== null && total.replayed < set.limit; ) {
    const left = set.limit - total.replayed
    const values = [...filters, includeExpired, includeRefused, after, left, lastSeq]
    const [page]: PageResult[] = await nextPage(values, total.replayed)
    total.replayed += page?.replayed ?? 0
    total.skipped.expired += page?.expired ?? 0
    total.skipped.refused += page?.refused ?? 0
    total.lastSeq = page?.lastCounted ?? total.lastSeq
    after = page?.isMore ? page.lastSeq : null
  }
  return total
}
