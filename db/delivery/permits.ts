import { sql } from 'drizzle-orm'
import { overflowOf } from '../admission/quota.ts'
import { type Database, inTransaction } from '../client.ts'
import { isBehind } from '../lanes.ts'
import { sqlText } from '../statement.ts'

/** A provider that doesn't answer is to hold few of the slots that are for all accounts' overflow. */
const permitsDuringSlowStart = 4
const slowStartAfterSeconds = 10

/** SQL that is true of a row of `channels` all of whose sends need permits. */
export const hasLimits = sqlText`
  (channels.rate_calls is not null or channels.max_in_flight is not null or channels.breaker_open_until is not null)`

/** SQL that is true of a row of `channels` in which no send of the overflow has got an answer lately. */
export const isInSlowStart = `coalesce(channels.answered_at < clock_timestamp() - interval '${slowStartAfterSeconds} s', true)`

/** SQL that is true of a send `s` that needs a permit before it may be claimed, by its row of `channels`. */
export const isLimited = `(${hasLimits} or (s.overflow and ${isInSlowStart}))`

/** SQL that is true of a permit `t` that the next attempt of a send `s` may still use. */
const isUsable = `t.request_id = s.request_id and t.attempt = s.attempt + 1 and t.valid_until > clock_timestamp()`

/** So long before its call a send is woken: it waits for the moment with all prepared. */
export const headStartMs = 100

/**
 * SQL of how long until the wake-up of a send `s` that has its permit, also against the circuit breaker of its row of
 * `channels`; null where it has none.
 */
export const permitInMs = sqlText`
  (select ceil(greatest(0, coalesce(extract(epoch from t.call_at - clock_timestamp()) * 1000, 0) - ${headStartMs}))::float8
   from permits t
   where ${isUsable} and (t.is_probe or channels.breaker_open_until is null))`

/** SQL that is true of a send `s` whose permit it is. One that came long before would take up a slot until its call. */
export const hasPermit = `coalesce(${permitInMs} < ${headStartMs}, false)`

/** SQL that is true of a permit `t` of a send `s` that is under way, or being claimed, or may yet be. */
const isLive = `((s.status = 'sending' and s.attempt = t.attempt) or
  (s.status = 'queued' and s.attempt = t.attempt - 1 and t.valid_until > clock_timestamp() - interval '1 s'))`

/** How far ahead the calls of a rate are dealt out: their sends are on their way by then. */
const dealtOutSeconds = 1
/** Before the first call after a pause: for the way of its send to the call. */
const startSeconds = 0.05
/** Of a rate's time: how much later a call may come than it was to, and how much wider their spacing is for that. */
const leeway = 0.05
/** Without a rate: for the way through the queue. */
const validSeconds = 10
const maxPermitsAtOnce = 200
/**
 * While nothing is known of the provider, a call is to tell something of it. So a probe, and the first calls of a silent
 * channel, are chosen among so many due sends: those first that are in no doubt, if there are any.
 */
const candidates = 1000

/**
 * SQL that is true of a send `s` that may end without a word about the provider: it has failed since it was accepted or
 * replayed, perhaps by its recipient, or its media have yet to be fetched.
 */
const isDoubtful = `(s.attempt > s.attempts_before_replay or
  (s.message->'media'->>'mediaUrl' is not null and s.message->'media'->>'sizeBytes' is null))`
/** In flight, or in a second: so few don't flood the ordinary queue. */
const fewPermits = 16

/** A send's permit. */
export interface Permit {
  requestId: string
  /** Where its wake-up goes: in channels with few permits, these don't wait behind an overflow. */
  overflowOf: string | null
  /** Until its call. */
  inMs: number
}

/** What a channel's sends were given. */
export interface GrantedPermits {
  channelId: string
  permits: Permit[]
  /** Whether there were no more; then whoever ends one gives the next. */
  isFull: boolean
  /** When there may be more; null where that depends on other things than time, or nobody waits. */
  moreInMs: number | null
}

/**
 * The first of a channel's due sends get the permits that there are: as many as its rate has calls until a moment ahead,
 * as `max_in_flight` leaves free, and as its circuit breaker lets through; where it has none of these, but is silent, a
 * few of its overflow.
 */
const give = (channelIds: readonly string[], probeSeconds: number) => sql`
  with pace as materialized (
    select *, ${sql.raw(hasLimits)} as has_limits,
           ${sql.raw(hasLimits)} and
             coalesce(least(max_in_flight, rate_calls::float8 / rate_seconds), 1) <= ${fewPermits} as are_few,
           greatest(next_call_at, at + ${startSeconds} * interval '1 s') as first_at,
           rate_seconds * ${1 + leeway}::float8 / rate_calls as spacing
    from channels, clock_timestamp() as at
    where id in ${channelIds} and held_at is null and (${sql.raw(hasLimits)} or ${sql.raw(isInSlowStart)})),
  limits as materialized (
    select pace.*,
           case when rate_calls is not null then least(${maxPermitsAtOnce}, greatest(
             0, 1 + floor((${dealtOutSeconds} - extract(epoch from first_at - at)) / spacing))) end as by_rate,
           max_in_flight - in_flight as by_flight,
           case when not has_limits then ${permitsDuringSlowStart} - in_flight end as by_slow_start,
           case when breaker_open_until > at then 0 when breaker_open_until is not null then 1 end as by_breaker
    from pace cross join lateral (
      select count(*) as in_flight from permits t join sends s using (request_id)
      where t.channel_id = pace.id and ${sql.raw(isLive)}) now),
  room as materialized (
    select limits.*, least(${maxPermitsAtOnce}, by_rate, by_flight, by_slow_start, by_breaker)::int as places,
           coalesce(by_breaker = 1, by_slow_start is not null) as is_first
    from limits),
  chosen as materialized (
    select room.*, s.request_id, s.attempt, case when not are_few then s.overflow_of end as overflow_of,
           s.place * spacing * interval '1 s' + first_at as call_at
    from room cross join lateral (
      select due.*, row_number() over (order by due.next_attempt_at, due.seq) - 1 as place
      from (
        select s.request_id, s.attempt + 1 as attempt, ${sql.raw(overflowOf('s'))} as overflow_of, s.next_attempt_at,
               s.seq, is_first and ${sql.raw(isDoubtful)} as comes_last
        from sends s
        where s.channel_id = room.id and s.finished_at is null and s.status = 'queued' and (has_limits or s.overflow)
          and s.next_attempt_at <= room.at and (s.expires_at is null or s.expires_at > room.at)
          and not ${sql.raw(isBehind)} and not exists (select from permits t where ${sql.raw(isUsable)})
        order by s.next_attempt_at, s.seq
        limit case when is_first and room.places > 0 then ${candidates} else greatest(room.places, 0) end) due
      order by due.comes_last, due.next_attempt_at, due.seq
      limit greatest(room.places, 0)) s),
  given as (
    insert into permits (request_id, channel_id, attempt, call_at, valid_until, is_probe)
    select request_id, id, attempt, call_at,
           coalesce(call_at + least(${validSeconds}, ${leeway}::float8 * rate_seconds) * interval '1 s',
                    at + ${validSeconds} * interval '1 s'),
           breaker_open_until is not null
    from chosen
    on conflict (request_id) do update
      set channel_id = excluded.channel_id, attempt = excluded.attempt, call_at = excluded.call_at,
          valid_until = excluded.valid_until, is_probe = excluded.is_probe),
  moved as (
    update channels
    set next_call_at = coalesce(last.call_at + last.spacing * interval '1 s', next_call_at),
        breaker_open_until = case when channels.breaker_open_until is not null
                                  then clock_timestamp() + ${probeSeconds} * interval '1 s' end
    from (select id, spacing, max(call_at) as call_at from chosen group by id, spacing) last
    where channels.id = last.id
    returning channels.id, next_call_at)
  select room.id as "channelId",
         coalesce(json_agg(json_build_object(
           'requestId', chosen.request_id, 'overflowOf', chosen.overflow_of,
           'inMs', coalesce(ceil(extract(epoch from chosen.call_at - chosen.at) * 1000), 0))
           order by chosen.call_at) filter (where chosen.request_id is not null), '[]') as permits,
         count(chosen.request_id) >= room.places as "isFull",
         ceil(1000 * case
           when room.by_breaker = 0 then extract(epoch from room.breaker_open_until - room.at)
           when count(chosen.request_id) = ${maxPermitsAtOnce} then 0
           when count(chosen.request_id) = room.by_rate then
             greatest(0, extract(epoch from coalesce(moved.next_call_at, room.first_at) - room.at) - ${dealtOutSeconds / 2}) end)::float8 as "moreInMs"
  from room left join chosen using (id) left join moved using (id)
  group by room.id, room.at, room.places, room.first_at, room.by_rate, room.by_breaker, room.breaker_open_until,
           moved.next_call_at`

/**
 * Gives the sends that wait in these channels the permits that there are, each channel's in the order in which they fell
 * due. Exact across any number of workers: who deals out a channel's permits has locked its row, and only then looks how
 * many there are.
 *
 * @param probeSeconds how long a circuit breaker that lets a call through waits for what comes of it.
 */
export async function grantPermits(
  db: Database,
  channelIds: readonly string[],
  probeSeconds: number,
): Promise<GrantedPermits[]> {
  return await inTransaction(db, async (transaction) => {
    await transaction.execute(
      sql`select from channels where id in ${channelIds} order by id for no key update`,
    )
    await transaction.execute(sql`
      delete from permits t where channel_id in ${channelIds}
        and not exists (select from sends s where s.request_id = t.request_id and ${sql.raw(isLive)})`)
    const { rows } = await transaction.execute<GrantedPermits & Record<string, unknown>>(
      give(channelIds, probeSeconds),
    )
    return rows
  })
}
