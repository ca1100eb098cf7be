import { overflowOf } from '../admission/quota.ts'
import { type Database, inTransaction } from '../client.ts'
import { hasLimits, isBehind, isHeld, isInSlowStart, isLimited, isReady, isUsable } from '../readiness.ts'
import { isGiven, prepared, sqlText } from '../statement.ts'

/** A provider that doesn't answer is to hold few of the slots that are for all accounts' overflow. */
const permitsDuringSlowStart = 4
/** How far ahead the calls of a rate are dealt out: their sends are on their way by then. */
const dealtOutSeconds = 1
/** Before the first call after a pause: for the way of its send to the call. */
const startSeconds = 0.05
/** Of a rate's time: how much later a call may come than it was to, and how much wider their spacing is for that. */
const leeway = 0.05
const maxPermitsAtOnce = 200
/**
 * While nothing is known of the provider, a call is to tell something of it. So a probe, and the first calls of a silent
 * channel, are chosen among so many due sends: those first that are in no doubt, if there are any.
 */
const candidates = 1000

/** In flight, or in a second: so few don't flood the ordinary queue. */
const fewPermits = 16

/** SQL that is true of a permit `p` of a send `s` that is under way, or being claimed, or may yet be. */
const isLive = sqlText`
  ((s.status = 'sending' and s.attempt = p.attempt) or
   (s.status = 'queued' and s.attempt = p.attempt - 1 and p.valid_until > clock_timestamp() - interval '1 s'))`

/**
 * SQL that is true of a send `s` that may end without a word about the provider: it has failed since it was accepted or
 * replayed, perhaps by its recipient, or its media have yet to be fetched.
 */
const isDoubtful = sqlText`
  (s.attempt > s.attempts_before_replay or
   (s.message->'media'->>'mediaUrl' is not null and s.message->'media'->>'sizeBytes' is null))`

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

const lockStatement = prepared(
  'lock_channels',
  'Locks the channels whose permits are about to be given.',
  sqlText`
    select from channels where ${isGiven('id')} order by id for no key update`,
)

const dropStatement = prepared(
  'drop_dead_permits',
  'Deletes the permits of channels that no send can use any more.',
  sqlText`
    delete from permits p
    where ${isGiven('channel_id')} and not exists (
      select from sends s where s.request_id = p.request_id and ${isLive})`,
)

/**
 * The first of a channel's due sends get the permits that there are: as many as its rate has calls until a moment ahead,
 * as `max_in_flight` leaves free, and as its circuit breaker lets through; where it has none of these, but is in slow
 * start, a few of its overflow.
 */
const grantStatement = prepared<GrantedPermits>(
  'grant_permits',
  'Gives the due sends of channels the permits that there are.',
  sqlText`
    -- The channels whose sends need permits: when the next call of a rate may be, and how far apart calls are.
    with limited as materialized (
      select *, ${hasLimits()} as has_limits,
             ${hasLimits()} and
               coalesce(least(max_in_flight, rate_calls::float8 / rate_seconds), 1) <= ${fewPermits} as are_few,
             greatest(next_call_at, at + ${startSeconds} * interval '1 s') as first_at,
             rate_seconds * ${1 + leeway}::float8 / rate_calls as spacing
      from channels, clock_timestamp() as at
      where ${isGiven('id')} and not ${isHeld} and (${hasLimits()} or ${isInSlowStart()})),
    -- How many permits each limit leaves.
    left_by as materialized (
      select limited.*,
             case when rate_calls is not null then least(${maxPermitsAtOnce}, greatest(
               0, 1 + floor((${dealtOutSeconds} - extract(epoch from first_at - at)) / spacing))) end as by_rate,
             max_in_flight - in_flight as by_flight,
             case when not has_limits then ${permitsDuringSlowStart} - in_flight end as by_slow_start,
             case when breaker_open_until > at then 0 when breaker_open_until is not null then 1 end as by_breaker
      from limited cross join lateral (
        select count(*) as in_flight from permits p join sends s using (request_id)
        where p.channel_id = limited.id and ${isLive}) now),
    -- The strictest limit counts. Where nothing is known of the provider, the calls are to tell something of it.
    available as materialized (
      select left_by.*, greatest(0, least(${maxPermitsAtOnce}, by_rate, by_flight, by_slow_start, by_breaker)::int) as permits,
             coalesce(by_breaker = 1, by_slow_start is not null) as is_trial
      from left_by),
    -- The sends that get one, in the order in which they fell due, and when each is to be called.
    chosen as materialized (
      select available.*, s.request_id, s.attempt, case when not are_few then s.overflow_of end as overflow_of,
             s.position * spacing * interval '1 s' + first_at as call_at
      from available cross join lateral (
        select due.*, row_number() over (order by due.next_attempt_at, due.seq) - 1 as position
        from (
          select s.request_id, s.attempt + 1 as attempt, ${overflowOf('s')} as overflow_of, s.next_attempt_at,
                 s.seq, is_trial and ${isDoubtful} as comes_last
          from sends s
          where s.channel_id = available.id and s.finished_at is null
            and ${isReady('available.at')}
            and ${isLimited('available')}
            and not ${isBehind}
            and not exists (select from permits p where ${isUsable})
          order by s.next_attempt_at, s.seq
          limit case when is_trial and permits > 0 then ${candidates} else permits end) due
        order by due.comes_last, due.next_attempt_at, due.seq
        limit permits) s),
    given as (
      insert into permits (request_id, channel_id, attempt, call_at, valid_until, is_probe)
      select request_id, id, attempt, call_at,
             coalesce(call_at + least($3, ${leeway}::float8 * rate_seconds) * interval '1 s',
                      at + $3 * interval '1 s'),
             breaker_open_until is not null
      from chosen
      on conflict (request_id) do update
        set channel_id = excluded.channel_id, attempt = excluded.attempt, call_at = excluded.call_at,
            valid_until = excluded.valid_until, is_probe = excluded.is_probe),
    -- The next calls come after these; a breaker that lets a probe through waits for what comes of it.
    moved as (
      update channels
      set next_call_at = coalesce(last.call_at + last.spacing * interval '1 s', next_call_at),
          breaker_open_until = case when channels.breaker_open_until is not null
                                    then clock_timestamp() + $2 * interval '1 s' end
      from (select id, spacing, max(call_at) as call_at from chosen group by id, spacing) last
      where channels.id = last.id
      returning channels.id, next_call_at)
    select available.id as "channelId",
           coalesce(json_agg(json_build_object(
             'requestId', chosen.request_id, 'overflowOf', chosen.overflow_of,
             'inMs', coalesce(ceil(extract(epoch from chosen.call_at - chosen.at) * 1000), 0))
             order by chosen.call_at) filter (where chosen.request_id is not null), '[]') as permits,
           count(chosen.request_id) >= available.permits as "isFull",
           ceil(1000 * case
             when available.by_breaker = 0 then extract(epoch from available.breaker_open_until - available.at)
             when count(chosen.request_id) = ${maxPermitsAtOnce} then 0
             when count(chosen.request_id) = available.by_rate then
               greatest(0, extract(epoch from coalesce(moved.next_call_at, available.first_at) - available.at)
                           - ${dealtOutSeconds / 2}) end)::float8 as "moreInMs"
    from available left join chosen using (id) left join moved using (id)
    group by available.id, available.at, available.permits, available.first_at, available.by_rate, available.by_breaker,
             available.breaker_open_until, moved.next_call_at`,
)

/**
 * Gives the sends that wait in these channels the permits that there are, each channel's in the order in which they fell
 * due. Exact across any number of workers: whoever gives a channel's permits has locked its row, and only then looks how
 * many there are.
 *
 * @param times.probeSeconds how long a circuit breaker that lets a call through waits for what comes of it.
 * @param times.validSeconds how long a permit without a rate is valid: for the way through the queue. With a rate no longer.
 */
export async function grantPermits(
  db: Database,
  channelIds: readonly string[],
  { probeSeconds, validSeconds }: { probeSeconds: number; validSeconds: number },
): Promise<GrantedPermits[]> {
  return await inTransaction(db, async (transaction) => {
    await lockStatement(transaction, [channelIds])
    await dropStatement(transaction, [channelIds])
    return await grantStatement(transaction, [channelIds, probeSeconds, validSeconds])
  })
}
