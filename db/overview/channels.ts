import type { QuietHours } from '../../src/core/channels/quiet-hours.ts'
import type { ShownConfig } from '../../src/core/channels/shown-config.ts'
import type { FallbackCause } from '../../src/core/sends/fallback.ts'
import type { Priority } from '../../src/core/sends/priority.ts'
import type { AttemptRecord } from '../../src/core/sends/timeline.ts'
import type { AutoCause } from '../../src/core/suppression/suppression.ts'
import { textsOf } from '../ceilings/ceilings.ts'
import type { Database } from '../connection/client.ts'
import { type Counts, countsOfChannels, countsOfEach, sumsOf } from '../counters/read.ts'
import { eachPriority } from '../delivery/priority-rule.ts'
import { type Count, mostCounted } from '../sends/list-count.ts'
import { isGiven, prepared, sqlText } from '../statement.ts'

/** A channel, as operators see it in a list. */
export interface ListedChannel {
  channelId: string
  accountId: string
  name: string
  accountName: string
  provider: string
  heldAt: Date | null
  heldReason: string | null
  breakerOpenUntil: Date | null
  breakerOpenedAt: Date | null
  deletedAt: Date | null
  /** Sends that have not ended, without scheduled ones; counted to `countedWaiting`. */
  waiting: number
  /** The same by priority. */
  waitingBy: Record<Priority, number>
  /** When the first of them was due, or will be. */
  oldestDue: Date | null
  shownConfig: ShownConfig | null
}

/** A page counts no more waiting sends of a channel. */
export const countedWaiting = 1000

/** SQL that is true for a channel that lists have as `failing`. */
export const isFailing = (channel: string) =>
  `${channel}.held_at is null and ${channel}.breaker_open_until is not null`

/** 0 for channels whose sends don't go. Lists begin with them. */
const rank = sqlText`
  cross join lateral (
    select case when c.held_at is not null or c.breaker_open_until is not null then 0 else 1 end as rank) r`

const columns = sqlText`
  c.id as "channelId", c.account_id as "accountId", c.name, a.name as "accountName", c.provider,
  c.held_at as "heldAt", c.held_reason as "heldReason", c.breaker_open_until as "breakerOpenUntil",
  c.breaker_opened_at as "breakerOpenedAt", c.deleted_at as "deletedAt", w.waiting, w.by_priority as "waitingBy",
  w.oldest as "oldestDue", c.shown_config as "shownConfig"`

/** SQL of what waits of a channel `c`, read from the index of waiting sends. */
const backlog = sqlText`
  cross join lateral (
    select least(sum(counted.number), ${countedWaiting + 1})::int as waiting, min(counted.oldest) as oldest,
           json_object_agg(each_priority.priority, counted.number) as by_priority
    from ${eachPriority} cross join lateral (
      select count(*)::int as number, min(next_attempt_at) as oldest
      from (select s.next_attempt_at from sends s
            where s.channel_id = c.id and s.priority = each_priority.priority and s.finished_at is null
            order by s.next_attempt_at limit ${countedWaiting + 1}) first) counted) w`

/** The place of a channel in the list, after which a page begins. */
export interface ChannelPlace {
  rank: number
  name: string
  channelId: string
}

export interface ChannelFilter {
  provider?: string | undefined
  state?: 'ready' | 'failing' | 'held' | undefined
  /** An id or a name. */
  account?: string | undefined
  /** A part of the name, or an id. */
  name?: string | undefined
}

/** SQL of the channels of a filter: `$1` is the provider, `$2` the state, `$3` the account's id or name, `$4` a part of the name, or the id. */
const filtered = sqlText`
  c.deleted_at is null and ($1::text is null or c.provider = $1)
    and ($2::text is null
         or $2 = case when c.held_at is not null then 'held'
                      when c.breaker_open_until is not null then 'failing' else 'ready' end)
    and ($3::text is null or a.name = $3 or a.id::text = $3)
    and ($4::text is null or position(lower($4) in lower(c.name)) > 0 or c.id::text = $4)`

const countStatement = prepared<Count>(
  'count_listed_channels',
  'Counts the channels of a list of the console.',
  sqlText`
    -- $1: the provider; $2: the state; $3: the account, its id or name; $4: a part of the name, or the id.
    select least(count(*), ${mostCounted})::int as count, count(*) > ${mostCounted} as "isMore"
    from (
      select 1 from channels c join accounts a on a.id = c.account_id
      where ${filtered}
      limit ${mostCounted + 1}) first`,
)

/** How many channels a list has. */
export async function countListedChannels(db: Database, filter: ChannelFilter): Promise<Count> {
  const { provider = null, state = null, account = null, name = null } = filter
  return (await countStatement(db, [provider, state, account, name]))[0] ?? { count: 0, isMore: false }
}

const listStatement = prepared<ListedChannel & { rank: number }>(
  'list_channels',
  'Lists a page of all channels, those with waiting sends first, for operators.',
  sqlText`
    -- $1: the provider; $2: the state; $3: the account, its id or name; $4: a part of the name, or the id.
    -- After the place of $5: the rank, $6: the name, $7: the id; $8: how many.
    select page.rank, ${columns}
    from (
      select c.id, r.rank
      from channels c join accounts a on a.id = c.account_id
        ${rank}
      where ${filtered}
        and ($5::int is null or (r.rank, c.name, c.id) > ($5::int, $6::text, $7::uuid))
      order by 2, c.name, c.id limit $8) page
    join channels c on c.id = page.id join accounts a on a.id = c.account_id
    ${backlog}
    order by page.rank, c.name, c.id`,
)

export async function listChannels(
  db: Database,
  filter: ChannelFilter,
  { after, limit }: { after?: ChannelPlace | undefined; limit: number },
): Promise<{ channels: ListedChannel[]; next: ChannelPlace | undefined }> {
  const { provider = null, state = null, account = null, name = null } = filter
  const place = after ? [after.rank, after.name, after.channelId] : [null, null, null]
  const rows = await listStatement(db, [provider, state, account, name, ...place, limit + 1])
  const channels = rows.slice(0, limit)
  const last = channels.at(-1)
  const isMore = rows.length > limit && last !== undefined
  return {
    channels,
    next: isMore ? { rank: last.rank, name: last.name, channelId: last.channelId } : undefined,
  }
}

const rankedStatement = prepared<{ channelId: string }>(
  'busiest_channels',
  'Finds the channels with the most sends that went wrong in given hours, then those with the most sends.',
  sqlText`
    -- $1: the hours; $2: the account, its id or name, null for all; $3: how many; $4: after how many.
    with counts as materialized (
      select channel_id, sum(failed + undelivered + uncertain) as wrong, sum(accepted) as accepted
      from (
        ${countsOfEach}) c
      group by channel_id)
    select c.id as "channelId"
    from channels c join accounts a on a.id = c.account_id left join counts on counts.channel_id = c.id
    where (c.deleted_at is null or counts.channel_id is not null)
      and ($2::text is null or a.name = $2 or a.id::text = $2)
    order by coalesce(counts.wrong, 0) desc, coalesce(counts.accepted, 0) desc, c.name, c.id
    limit $3 offset $4`,
)

/**
 * Channels by their counts in given hours.
 *
 * @param hours consecutive.
 */
export async function busiestChannels(
  db: Database,
  hours: readonly Date[],
  { account, limit, skip }: { account?: string | undefined; limit: number; skip: number },
): Promise<string[]> {
  const rows = await rankedStatement(db, [hours, account ?? null, limit, skip])
  return rows.map(({ channelId }) => channelId)
}

const givenStatement = prepared<ListedChannel>(
  'channels_given',
  'Reads channels for operators.',
  sqlText`
    select ${columns}
    from channels c join accounts a on a.id = c.account_id
    ${backlog}
    where ${isGiven('c.id')}`,
)

/** In no order. */
export const readChannels = (db: Database, channelIds: readonly string[]) => givenStatement(db, [channelIds])

const countsStatement = prepared<Counts & { channelId: string }>(
  'counts_of_channels',
  'Counts the sends of channels that were accepted in given hours.',
  sqlText`
    -- $1: the hours; $2: the channels.
    select c.channel_id as "channelId",
           ${sumsOf('c')}
    from (
      ${countsOfChannels('$2::uuid[]')}) c
    group by c.channel_id`,
)

/**
 * The counters of channels, summed over given hours. A channel without sends is missing.
 *
 * @param hours consecutive.
 */
export async function countChannels(
  db: Database,
  channelIds: readonly string[],
  hours: readonly Date[],
): Promise<Map<string, Counts>> {
  const rows = await countsStatement(db, [hours, channelIds])
  return new Map(rows.map(({ channelId, ...counts }) => [channelId, counts]))
}

/** Further facts of one channel, for operators. */
export interface ChannelFacts {
  ordering: string
  onUncertain: string
  expireAfterSeconds: number | null
  rateCalls: number | null
  rateSeconds: number | null
  maxInFlight: number | null
  expectsReceipts: boolean
  receiptAt: Date | null
  createdAt: Date
  templates: { name: string; definition: object }[]
  /** Null for all. */
  autoSuppress: AutoCause[] | null
  countries: string[] | null
  /** Null for never. */
  quietHours: QuietHours | null
  /** Null without one. */
  ceilings: string[] | null
  fallbackChannelId: string | null
  fallbackOn: FallbackCause[] | null
  fallbackWithinSeconds: number | null
  oneClick: boolean
  /** The channels whose sends go on by this one. */
  fallsBackHere: { channelId: string; name: string }[]
  /** The channels of its provider, of all accounts, this one included: those that fail are not held. */
  ofProvider: { channels: number; failing: number; otherFailing: number; since: Date | null }
}

const maxTemplates = 100

const factsStatement = prepared<ChannelFacts>(
  'channel_facts',
  'Reads a channel for its page.',
  sqlText`
    select c.ordering, c.on_uncertain as "onUncertain", c.expire_after_seconds as "expireAfterSeconds",
           c.rate_calls as "rateCalls", c.rate_seconds as "rateSeconds", c.max_in_flight as "maxInFlight",
           c.expects_receipts as "expectsReceipts", c.receipt_at as "receiptAt", c.created_at as "createdAt",
           (select coalesce(json_agg(json_build_object('name', t.name, 'definition', t.definition) order by t.name), '[]')
            from (select * from templates t where t.channel_id = c.id order by name limit ${maxTemplates}) t) as templates,
           c.auto_suppress as "autoSuppress", c.countries, c.quiet_hours as "quietHours",
           (${textsOf}
            where own.owner_id = c.id) as ceilings,
           c.fallback_channel_id as "fallbackChannelId",
           c.fallback_on as "fallbackOn", c.fallback_within_seconds as "fallbackWithinSeconds",
           c.one_click as "oneClick",
           (select coalesce(json_agg(json_build_object('channelId', f.id, 'name', f.name) order by f.name), '[]')
            from channels f
            where f.account_id = c.account_id and f.fallback_channel_id = c.id and f.deleted_at is null) as "fallsBackHere",
           (select json_build_object(
              'channels', count(*),
              'failing', count(*) filter (where o.fails),
              'otherFailing', count(*) filter (where o.fails and o.id <> c.id),
              'since', min(coalesce(o.breaker_opened_at, o.breaker_open_until)) filter (where o.fails))
            from (select o.*, ${isFailing('o')} as fails from channels o) o
            where o.provider = c.provider and o.deleted_at is null) as "ofProvider"
    from channels c where c.id = $1`,
)

export async function readChannelFacts(db: Database, channelId: string): Promise<ChannelFacts | undefined> {
  return (await factsStatement(db, [channelId]))[0]
}

/** The outcome of a call that failed. */
export interface LastFailure {
  requestId: string
  at: Date
  record: Partial<AttemptRecord>
}

/**
 * So many of each kind are looked at. A subquery hides the limit from the planner, which underestimates how many sends a channel has
 * there, and would otherwise read and sort all of them.
 */
const firstLooked = 'limit (select 100)'

const lastFailuresStatement = prepared<LastFailure & { channelId: string }>(
  'last_failures_of_channels',
  'Finds what the providers of channels last answered when a call failed.',
  sqlText`
    -- Looks at the last sends that failed after a call, and at those that are tried again, among the last in line. The
    -- attempts before a replay or a fallback don't count: another channel may have made them.
    select c.id as "channelId", last.*
    from unnest($1::uuid[]) c (id) cross join lateral (
      (select f.request_id as "requestId", f.finished_at as at, f.attempt_record as record
       from (select s.request_id, s.finished_at, s.attempt_record from sends s
             where s.channel_id = c.id and s.failure is not null
             order by s.seq desc ${firstLooked}) f
       where f.attempt_record is not null)
      union all
      select w.request_id, e.at, e.fields
      from ${eachPriority} cross join lateral (
          select s.request_id, s.attempt > s.attempts_before_replay as is_tried_again from sends s
          where s.channel_id = c.id and s.priority = each_priority.priority and s.finished_at is null
          order by s.next_attempt_at desc ${firstLooked}) w
        cross join lateral (
          select e.at, e.fields from send_events e
          where w.is_tried_again and e.request_id = w.request_id and e.event = 'attempt_finished'
          order by e.at desc limit 1) e
      order by at desc limit 1) last`,
)

/** By channel. One without a failure is missing. */
export async function findLastFailures(
  db: Database,
  channelIds: readonly string[],
): Promise<Map<string, LastFailure>> {
  const rows = await lastFailuresStatement(db, [channelIds])
  return new Map(rows.map(({ channelId, ...failure }) => [channelId, failure]))
}
