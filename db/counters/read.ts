import type { Database } from '../connection/client.ts'
import { prepared, sqlList, sqlText } from '../statement.ts'
import { allChannels, counters, partsOf, withReasons } from './fold.ts'

/*
 * The counts that pages read: those that are added up, and the changes since. Hours are given one by one, so that each is a
 * range of the primary key, however many channels there are. Where they are found by another index, those between the first and the
 * last are read: callers pass consecutive hours.
 */

export type Counts = Record<(typeof counters)[number], number>

/** Which sends are meant. */
export type CountedSet = { of: 'all' } | { of: 'account' | 'channel'; id: string }

const changed = partsOf('counted_as')

/** SQL of the counters that a change with its `state` changes. */
export const changedColumns = counters.map(
  (name) => `case when state = '${name}' then change else 0 end as ${name}`,
)

/** SQL of the channels of a set: `$2` is what it is of, `$3` its id. */
const channelsOfSet = sqlText`
  case $2 when 'channel' then array[$3::uuid]
          else array(select id from channels where account_id = $3) end`

const hourGiven = 'hour = any($1::timestamptz[])'
/** SQL that is true for consecutive hours: for rows that are found by their channel, or by no index. */
const hourBetween = sqlText`
  hour between (select min(h) from unnest($1::timestamptz[]) h)
           and (select max(h) from unnest($1::timestamptz[]) h)`

interface Parts {
  /** SQL of the rows of `send_counts`. */
  counts: string
  /** SQL condition on the rows of `failure_counts`, and on those of changes. */
  folded: string
  changes: string
}

/**
 * Each channel by the index of channels. Without `offset 0`, PostgreSQL would join the two otherwise, and may read all channels of
 * the hours.
 */
const ofChannels = (channelIds: string): Parts => {
  const condition = `channel_id = any(${channelIds})`
  return {
    counts: sqlText`
      (select distinct unnest(${channelIds})) wanted (id) cross join lateral (
        select * from send_counts
        where channel_id = wanted.id
          and ${hourBetween} offset 0) counts`,
    folded: condition,
    changes: condition,
  }
}

const parts = {
  total: {
    counts: sqlText`
      send_counts
      where channel_id = ${allChannels}
        and ${hourBetween}`,
    folded: `channel_id = ${allChannels}`,
    changes: 'true',
  },
  some: ofChannels(channelsOfSet),
}

/** SQL of counters of the hours `$1`. With `offset 0`, the state of a change is split off once, not for each column. */
const countsOf = ({ counts, changes }: Pick<Parts, 'counts' | 'changes'>) => sqlText`
  select hour, channel_id, ${sqlList(counters)}
  from ${counts}
  union all
  select hour, channel_id,
         ${changedColumns.join(',\n')}
  from (
    select hour, channel_id,
           ${changed.state} as state, change
    from send_count_changes
    where ${hourBetween}
      and ${changes}
    offset 0) changes`

/** All channels, each by itself. */
export const countsOfEach = countsOf({
  counts: sqlText`
    send_counts
    where channel_id <> ${allChannels}
      and ${hourGiven}`,
  changes: 'true',
})
export const countsOfChannels = (channelIds: string) => countsOf(ofChannels(channelIds))

export const sumsOf = (counts: string) =>
  counters.map((name) => `coalesce(sum(${counts}.${name}), 0)::int as ${name}`).join(',\n')

type OfHour = Counts & { hour: Date }

const byHour = (name: string, purpose: string, which: Parts) =>
  prepared<OfHour>(
    name,
    purpose,
    sqlText`
      ${which === parts.total ? '-- $1: the hours.' : '-- $1: the hours; $2: account or channel; $3: its id.'}
      select c.hour,
             ${sumsOf('c')}
      from (
        ${countsOf(which)}) c
      group by c.hour order by c.hour`,
  )

const totalStatement = byHour('counts_of_all', 'Counts all sends by the hour of their accept.', parts.total)
const someStatement = byHour(
  'counts_of_some',
  'Counts the sends of an account or a channel by the hour of their accept.',
  parts.some,
)

/**
 * The counters of given hours. An hour without sends may be missing.
 *
 * @param hours consecutive.
 */
export function countByHour(db: Database, set: CountedSet, hours: readonly Date[]): Promise<OfHour[]> {
  return set.of === 'all' ? totalStatement(db, [hours]) : someStatement(db, [hours, set.of, set.id])
}

const acceptedStatement = prepared<{ channelId: string; hour: Date; accepted: number }>(
  'accepted_by_hour',
  'Counts the accepted sends of channels by the hour.',
  sqlText`
    -- $1: the hours; $2: the channels.
    select c.channel_id as "channelId", c.hour, sum(c.accepted)::int as accepted
    from (
      ${countsOfChannels('$2::uuid[]')}) c
    group by c.channel_id, c.hour`,
)

/**
 * The accepted sends of each channel, a number for each given hour. A channel without sends is missing.
 *
 * @param hours consecutive.
 */
export async function acceptedByHour(
  db: Database,
  channelIds: readonly string[],
  hours: readonly Date[],
): Promise<Map<string, number[]>> {
  const rows = await acceptedStatement(db, [hours, channelIds])
  const places = new Map(hours.map((hour, place) => [hour.getTime(), place]))
  const counts = new Map<string, number[]>()
  for (const { channelId, hour, accepted } of rows) {
    const place = places.get(hour.getTime())
    const ofChannel = counts.get(channelId) ?? hours.map(() => 0)
    if (place !== undefined) ofChannel[place] = accepted
    counts.set(channelId, ofChannel)
  }
  return counts
}

/** So many sends that went wrong, by their state, the reason and the provider's code. */
export interface FailureCount {
  state: 'failed' | 'uncertain' | 'undelivered'
  /** Whose fault it was, or the service's own reason; empty if unknown. */
  reason: string
  /** The provider's code, or its status if it gave none; empty if it gave neither. */
  code: string
  sends: number
}

const failures = (name: string, purpose: string, which: Parts) =>
  prepared<FailureCount>(
    name,
    purpose,
    sqlText`
      ${which === parts.total ? '-- $1: the hours; $2: how many.' : '-- $1: the hours; $2: account or channel; $3: its id; $4: how many.'}
      select state, reason, code, sum(sends)::int as sends
      from (
        select state, reason, code, sends
        from failure_counts
        where ${hourGiven}
          and ${which.folded}
        union all
        select ${changed.state},
               ${changed.reason},
               ${changed.code}, change
        from send_count_changes
        where ${hourBetween}
          and ${which.changes}
          and ${changed.state} in ${withReasons}) f
      group by state, reason, code having sum(sends) > 0
      order by sum(sends) desc, state, reason, code limit ${which === parts.total ? '$2' : '$4'}`,
  )

const allFailuresStatement = failures(
  'failures_of_all',
  'Counts all sends that went wrong by reason and code.',
  parts.total,
)
const someFailuresStatement = failures(
  'failures_of_some',
  'Counts the sends of an account or a channel that went wrong by reason and code.',
  parts.some,
)

/**
 * The most frequent reasons and codes, of sends accepted in given hours.
 *
 * @param hours consecutive.
 */
export function countFailures(db: Database, set: CountedSet, hours: readonly Date[], limit: number) {
  return set.of === 'all'
    ? allFailuresStatement(db, [hours, limit])
    : someFailuresStatement(db, [hours, set.of, set.id, limit])
}

const sinceStatement = prepared<{ since: Date }>(
  'counted_since',
  'Finds when counting began.',
  'select since from counted_since',
)

/** Sends accepted before are not counted. */
export async function countedSince(db: Database): Promise<Date | undefined> {
  return (await sinceStatement(db, []))[0]?.since
}
