import { foldContactValue } from '../../src/core/contacts/contact.ts'
import { defaultFallbackWithinSeconds } from '../../src/core/sends/fallback.ts'
import {
  noneSkipped,
  type SkippedSends,
  skippedAs as skippedReasons,
  sumOfSkipped,
} from '../../src/core/sends/left-out.ts'
import { ownReasons } from '../../src/core/sends/own-reasons.ts'
import { noSuppressionKey } from '../../src/core/suppression/suppression.ts'
import { postedChannel } from '../accounts/posted-channel.ts'
import { isSuppressed, isSuppressedEverywhere } from '../claim-rule.ts'
import type { Database } from '../connection/client.ts'
import { folded } from '../delivery/contact-rule.ts'
import { namedParameters, prepared, sqlText } from '../statement.ts'
import { countedCodeOfSend, faultOfSend, isWithoutCode, reasonOfSend, withoutCode } from './both-tables.ts'
import { canBeReplayed, isPastOwnExpiry, type ReplayableStatus, replaying } from './replays.ts'

/** A set of failed or uncertain sends of a channel, that has them now. Absent filters match all. */
export interface ReplaySet {
  channelId: string
  /** The channel of the request: another one, if they fell back. */
  postedTo?: string | undefined
  status: ReplayableStatus
  /** Limit of replayed sends; the oldest are taken. */
  limit: number
  /** Accepted at or after this time. */
  since?: Date | undefined
  /** Accepted before this time. */
  until?: Date | undefined
  /** A part of the reason, case-insensitive. */
  reason?: string | undefined
  /** Normalised. */
  contactValue?: string | undefined
  flowId?: string | undefined
  /** Whose fault it was, or what ended it without a call. */
  fault?: string | undefined
  reference?: string | undefined
  providerCode?: string | undefined
  /** Ended by this time: leaves out those that failed after a trial. */
  endedBy?: Date | undefined
  /** Accepted no later than this one, see `Trial`. */
  lastSeq?: string | undefined
  /** Accepted after this one: the last one of an earlier part of the set. */
  afterSeq?: string | undefined
  /** How many were replayed in earlier parts of the set: the next ones are due after these. */
  replayedBefore?: number | undefined
  /** Includes those that expired, or would have expired by now. */
  includeExpired?: boolean | undefined
  /** Includes those that the provider, or the service itself, refused for good. */
  includeRefused?: boolean | undefined
  /** The key of the hashes of erased contacts (`suppressionKey`). */
  suppressionKey?: Buffer | undefined
}

/** The result of a replay, or of a trial: the numbers of replayed and of skipped sends. */
export interface ReplayedSet {
  replayed: number
  skipped: SkippedSends
}

/** The result of a trial: what a replay of the set would do. */
export interface Trial extends ReplayedSet {
  /** The last counted send. A set up to it never contains sends beyond the limit. */
  lastSeq: string | undefined
}

/** Sends looked at by one statement, which has to end within the connection's time-out. */
const pageSize = 2000

const ofSet = {
  channelId: 'the channel',
  postedTo: 'the channel of the request',
  statuses: 'the states',
  since: 'accepted at this time or later',
  until: 'accepted before this time',
  reason: 'a part of the reason',
  contactValue: 'the contact',
  flowId: 'the flow',
  reference: 'the reference',
  providerCode: 'the code of the provider',
  fault: 'whose fault it was, or what ended it without a call',
  endedBy: 'ended by this time',
  includeExpired: 'whether expired ones are included',
  includeRefused: 'whether refused ones are included',
  suppressionKey: 'the key of the hashes of erased contacts',
  after: 'after this seq',
  lastSeq: 'up to this seq',
  limit: 'how many to replay',
}
const trial = namedParameters(ofSet)
const replay = namedParameters({ ...ofSet, before: 'how many of the set were replayed before' })
/** The parameters that both statements have. */
const given = trial.sql

const isRefused = "coalesce(s.attempt_record->>'outcome' = 'rejected', false)"
const isExpired = sqlText`
  ((s.attempt_record is null and s.failure = '${ownReasons.expired}') or
   coalesce(s.expires_at <= clock_timestamp(), false))`

/** A send that is suppressed on its channel alone may still go by the channel's fallback. */
const mayFallBack = sqlText`
  exists (
    select from channels c
    where c.id = s.channel_id and c.fallback_channel_id is not null
      and s.accepted_at + coalesce(c.fallback_within_seconds, ${defaultFallbackWithinSeconds})
        * interval '1 s' > clock_timestamp())`

const suppressionKey = `${given.suppressionKey}::bytea`
/** SQL of the reason why a send `s` is skipped; null if it isn't. It compares a stored reason with `ownReasons.expired` only. */
const skippedAs = sqlText`
  case when ${isPastOwnExpiry} then 'expired'
       when not ${canBeReplayed(given.statuses)} then 'gone'
       when ${isSuppressedEverywhere(suppressionKey)} then 'suppressed'
       when ${isSuppressed(suppressionKey)} and not ${mayFallBack} then 'suppressed'
       when ${isRefused} and not ${given.includeRefused} then 'refused'
       when ${isExpired} and not ${given.includeExpired} then 'expired' end`

const isInSet = sqlText`
  (s.status = any(${given.statuses}) and s.failure is not null
  and (${given.postedTo}::uuid is null or ${postedChannel} = ${given.postedTo})
  and (${given.since}::timestamptz is null or s.accepted_at >= ${given.since})
  and (${given.until}::timestamptz is null or s.accepted_at < ${given.until})
  and (${given.reason}::text is null or position(lower(${given.reason}) in lower(
    ${reasonOfSend})) > 0)
  and (${given.contactValue}::text is null or ${folded('s.contact_value')} = ${given.contactValue})
  and (${given.flowId}::uuid is null or s.flow_id = ${given.flowId})
  and (${given.reference}::text is null or s.reference = ${given.reference})
  and (${given.providerCode}::text is null or ${countedCodeOfSend} = ${given.providerCode}
       or ${given.providerCode} = '${withoutCode}' and ${isWithoutCode})
  and (${given.fault}::text is null or ${faultOfSend} = ${given.fault})
  and (${given.endedBy}::timestamptz is null or s.finished_at <= ${given.endedBy}))`

const page = sqlText`
  -- The channel's next failed or uncertain sends, matching or not, so that every page takes about the same time.
  page as materialized (
    select s.request_id, s.seq,
           ${isInSet} as is_in_set,
           ${skippedAs} as skipped_as
    from sends s
    where s.channel_id = ${given.channelId} and s.failure is not null
      and s.seq > ${given.after}::bigint and s.seq <= ${given.lastSeq}::bigint
    order by s.seq limit ${pageSize})`

/** @param replayed SQL of a relation of those that are replayed, with their `seq`. */
const counting = (replayed: string) => sqlText`
  -- If the limit is reached, sends after the last replayed one aren't counted.
  select (select count(*) from ${replayed})::int as replayed,
         ${skippedReasons.map((why) => `count(*) filter (where is_in_set and is_passed and skipped_as = '${why}')::int as ${why},`).join('\n')}
         max(seq) filter (where is_passed)::text as "lastCounted", max(seq)::text as "lastSeq",
         count(*) = ${pageSize} as "isMore"
  from (select page.*,
               seq <= (select max(seq) from ${replayed})
                 or (select count(*) from ${replayed}) < ${given.limit} as is_passed
        from page) page`

interface PageResult extends SkippedSends {
  replayed: number
  lastCounted: string | null
  lastSeq: string | null
  isMore: boolean
}

/** Checks each send again under its lock. Skips sends that another replay has locked. */
const toReplay = sqlText`
  select s.* from sends s
  where s.request_id = any(array(select request_id from page where is_in_set and skipped_as is null))
    and ${isInSet}
    and ${skippedAs} is null
  order by s.seq limit ${given.limit} for no key update of s skip locked`

const replayStatement = prepared<PageResult>(
  'replay_sends',
  'Queues a page of a set of failed or uncertain sends again.',
  sqlText`
    ${replay.comment}
    with
    ${page},
    ${replaying(toReplay, `${replay.sql.before}::bigint`)}
    ${counting('written')}`,
)

const tryStatement = prepared<PageResult>(
  'try_replay',
  'Counts what replay_sends would do, without doing it.',
  sqlText`
    ${trial.comment}
    with
    ${page},
    -- Sends that would be replayed.
    replayed as (
      select seq from page where is_in_set and skipped_as is null order by seq limit ${given.limit})
    ${counting('replayed')}`,
)

/** Queues the sends of a set again, except those that are skipped, and erased ones, which are not counted. */
export async function replaySends(db: Database, set: ReplaySet): Promise<ReplayedSet> {
  const { replayed, skipped } = await replayPart(db, set)
  return { replayed, skipped }
}

/** The same, with the last counted send, after which the next part of the set begins. */
export function replayPart(db: Database, set: ReplaySet): Promise<Trial> {
  return goThrough(set, (values, before) => replayStatement(db, replay.valuesOf({ ...values, before })))
}

/** Counts what `replaySends` would do, without doing it. */
export function tryReplay(db: Database, set: ReplaySet): Promise<Trial> {
  return goThrough(set, (values) => tryStatement(db, trial.valuesOf(values)))
}

const greatestSeq = String(2n ** 63n - 1n)

/** @param nextPage called with the values of `given`, and the number of sends of the set replayed so far. */
async function goThrough(
  set: ReplaySet,
  nextPage: (values: Record<keyof typeof given, unknown>, before: number) => Promise<PageResult[]>,
): Promise<Trial> {
  const { since = null, until = null, reason = null, contactValue = null, endedBy = null } = set
  const {
    fault = null,
    flowId = null,
    reference = null,
    providerCode = null,
    postedTo = null,
    replayedBefore = 0,
  } = set
  const { includeExpired = false, includeRefused = false, lastSeq = greatestSeq, afterSeq = '-1' } = set
  const filters = {
    channelId: set.channelId,
    postedTo,
    statuses: [set.status],
    since,
    until,
    reason,
    contactValue: contactValue && foldContactValue(contactValue),
    flowId,
    reference,
    providerCode,
    fault,
    endedBy,
    suppressionKey: set.suppressionKey ?? noSuppressionKey,
  }
  const total: Trial = { replayed: 0, skipped: noneSkipped, lastSeq: undefined }
  for (let after: string | null = afterSeq; after !== null && total.replayed < set.limit; ) {
    const limit = set.limit - total.replayed
    const values = { ...filters, includeExpired, includeRefused, after, lastSeq, limit }
    const [page]: PageResult[] = await nextPage(values, replayedBefore + total.replayed)
    total.replayed += page?.replayed ?? 0
    if (page) total.skipped = sumOfSkipped(total.skipped, page)
    total.lastSeq = page?.lastCounted ?? total.lastSeq
    after = page?.isMore ? page.lastSeq : null
  }
  return total
}
