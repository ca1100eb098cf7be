import { sqlText } from '../statement.ts'

/*
 * The rule of ceilings (docs/explanation/delivery.md#ceilings), in parts. The claim of a send's first attempt counts it below the ceilings of its
 * channel and its account, in the statement that makes it `sending`: so the count is exact whatever is lost. A send is counted once on each
 * channel, and once for its account; a replay counts again.
 */

/** As long as there is no ceiling at all, they cost this condition, read once a statement. */
export const anyCeiling = '(select exists (select from ceilings))'

/** SQL of a relation `now`: the period of a ceiling `c`, and what is used of it (migration 0045). */
export const presentPeriod = sqlText`
  (
    select at, starts, ceiling_end(c.period, starts) as ends,
           case when c.starts_at >= starts then c.used else 0 end as used
    from (select at, ceiling_start(c.period, c.starts_at, at) as starts
          from clock_timestamp() at) of_clock) now`

/** SQL of what a send `s` takes of a ceiling `c`. */
export const taken = 'ceiling_size(c.unit, s.contact_type, s.segments)'

/**
 * SQL that is true if a claim of a queued send `s` counts below a ceiling `c` in its period `now`. An attempt that counts as none keeps
 * its place until the period ends.
 */
export const isToBeCounted = sqlText`
  (c.owner_id in (s.channel_id, s.account_id) and s.attempt = s.attempts_before_replay
   and coalesce(case c.owner_id when s.channel_id then s.channel_counted_at
                                else s.account_counted_at end < now.starts, true))`

/** SQL of something of the last ceiling that a queued send `s` would pass; null if it passes none. */
const ofPassed = (what: 'ends' | 'reason') => sqlText`
  case when ${anyCeiling}
            and s.attempt = s.attempts_before_replay then
    (select ${what}
     from passed_ceiling(s.account_id, s.channel_id, s.contact_type, s.segments,
                         s.account_counted_at, s.channel_counted_at)) end`

/** SQL of when the period of the last ceiling ends that a queued send `s` would pass; null if it passes none. */
export const ceilingUntil = ofPassed('ends')

/** SQL of the words for that ceiling. */
export const ceilingPassed = ofPassed('reason')

/** SQL that is true for a row of `channels` of which nothing more may be counted in a period, or of its account. */
export const isCeilingReached = sqlText`
  (${anyCeiling} and exists (
     select from ceilings c cross join lateral ${presentPeriod}
     where c.owner_id in (channels.id, channels.account_id) and now.used >= c.amount))`

/**
 * SQL of CTEs that count sends that are about to be claimed. The sends of `beyond` would pass a ceiling, and must not be claimed.
 *
 * @param free a relation of the sends that nothing else keeps. Their rows are among `candidates`, locked.
 */
export const countBelowCeilings = (free: string) => sqlText`
  -- Their ceilings, locked in the order of their keys.
  locked_ceilings as materialized (
    select * from ceilings c
    where ${anyCeiling} and c.owner_id = any(array(
      select unnest(array[account_id, channel_id]) from ${free}))
    order by c.owner_id, c.unit, c.period
    for no key update),
  -- Their use when the locks were free.
  own_ceilings as materialized (
    select c.owner_id, c.unit, c.period, c.amount, now.*
    from locked_ceilings c cross join lateral ${presentPeriod}),
  -- The part that each send takes, and whether all up to it are more than is left.
  taken as materialized (
    select s.request_id, c.owner_id, c.unit, c.period, t.amount,
           c.used + sum(t.amount) over (partition by c.owner_id, c.unit, c.period
                                        order by s.priority, s.next_attempt_at, s.seq) > c.amount as is_beyond
    from own_ceilings c cross join lateral (select c.starts) now
      join candidates s on
        ${isToBeCounted}
      cross join lateral (
        select ${taken} as amount) t
    where s.status = 'queued' and s.request_id in (select request_id from ${free})),
  -- The sends that have to wait for the next period.
  beyond as (
    select request_id from taken where is_beyond),
  -- The others are counted.
  counted as (
    update ceilings c
    set starts_at = own.starts, used = own.used + sums.amount,
        reported = case when c.starts_at < own.starts then 0 else c.reported end
    from own_ceilings own join (
      select owner_id, unit, period, sum(amount) as amount from taken
      where request_id not in (select request_id from beyond)
      group by owner_id, unit, period) sums using (owner_id, unit, period)
    where (c.owner_id, c.unit, c.period) = (own.owner_id, own.unit, own.period))`

/** SQL of when a claimed send `s` was last counted. @param owner its column of the owner of the ceilings. */
const countedAt = (owner: 'channel' | 'account') => sqlText`
  case when ${anyCeiling} and s.status = 'queued' then
    greatest(s.${owner}_counted_at, (select min(at) from own_ceilings where owner_id = s.${owner}_id))
  else s.${owner}_counted_at end`

/** SQL of columns that the claim sets. */
export const ceilingColumns = sqlText`
  channel_counted_at = ${countedAt('channel')},
  account_counted_at = ${countedAt('account')}`

/** SQL of columns of a send that is replayed: its attempts count again. */
export const notCounted = 'channel_counted_at = null, account_counted_at = null'

/** SQL of columns of a send that falls back: it counts for its new channel, and not again for its account. */
export const countedForAccount = sqlText`
  channel_counted_at = null,
  account_counted_at = case when s.account_counted_at is not null then 'infinity'::timestamptz end`
