import { grantAheadSeconds, startSeconds } from '../../src/core/sends/delivery-times.ts'
import { oneInTen } from '../../src/core/sends/priority.ts'
import { overflowOf } from '../admission/quota.ts'
import { hasLimits, isBehind, isChannelOpen, isLimited, isUsable, isWakeable } from '../claim-rule.ts'
import { type Database, inTransaction, type Transaction } from '../connection/client.ts'
import { isChannelInSlowStart } from '../reasons-to-wait.ts'
import { isGiven, prepared, sqlText } from '../statement.ts'
import { isEvidence, isInUse, isLive } from './permit-states.ts'
import { eachPriority } from './priority-rule.ts'

/** Few, so that a provider that doesn't answer occupies few of the slots for the overflow of all accounts. */
export const permitsDuringSlowStart = 4
/** How late a call may be, as a share of the rate's period. The spacing of calls is wider by the same share. */
export const leeway = 0.05
const maxPermitsAtOnce = 200
/**
 * While the state of the provider is unknown, a call should show it. So a probe, and the calls of a slow start,
 * are chosen from this many due sends, with those first whose result depends only on the provider.
 */
const candidates = 1000

/** Permits in a row of more urgent sends while less urgent ones wait. */
const inARow = oneInTen - 1

/** Calls in flight, or per second. The wake-ups of channels with so few permits can use the ordinary queue. */
const fewPermits = 16

/**
 * SQL that is true for a send `s` whose attempt may say nothing about the provider: it has failed before, perhaps because of its
 * recipient, or its media still has to be fetched.
 */
const isDoubtful = sqlText`
  (s.attempt > s.attempts_before_replay
   or (s.message->'media'->>'mediaUrl' is not null
       and s.message->'media'->>'sizeBytes' is null)
   or s.message @? '$.email.attachments[*].url')`

export interface Permit {
  requestId: string
  /** The queue of its wake-up. In channels with few permits that is the ordinary one, so that they don't wait behind an overflow. */
  overflowOf: string | null
  /** Time until its call. */
  inMs: number
}

/** The permits granted to a channel's sends. */
export interface GrantedPermits {
  channelId: string
  permits: Permit[]
  /** Whether no more permits are free. Then the next one is granted when an attempt ends. */
  isFull: boolean
  /** Time until more may be free; null if that doesn't depend on time, or no send waits. */
  moreInMs: number | null
}

const lockStatement = prepared(
  'lock_channels',
  'Locks the channels whose permits are about to be granted.',
  sqlText`
    select from channels where ${isGiven('id')} order by id for no key update`,
)

const dropStatement = prepared(
  'drop_dead_permits',
  'Deletes permits that no send can use any more. Unused ones are kept for a while, as evidence.',
  sqlText`
    delete from permits p
    where ${isGiven('channel_id')} and not exists (
      select from sends s
      where s.request_id = p.request_id
        and (${isInUse}
             or ${isEvidence}))`,
)

/**
 * Grants the free permits of channels to their first due sends, the most urgent first: as many as the rate allows ahead, as
 * `max_in_flight` leaves free, and as the circuit breaker lets through. In a channel with none of these limits that is in slow
 * start, a few sends of its overflow get permits.
 */
const grantStatement = (name: string, purpose: string, dueSends: string) =>
  prepared<GrantedPermits>(
    name,
    purpose,
    sqlText`
      -- $1: the channels; $2: how many seconds a breaker waits for its probe; $3: how many a permit is valid.
      with
      -- The channels whose sends need permits: the time of the next call by the rate, and the spacing of calls.
      limited as materialized (
        select *, ${hasLimits} as has_limits,
               ${hasLimits} and
                 coalesce(least(max_in_flight, rate_calls::float8 / rate_seconds), 1) <= ${fewPermits} as are_few,
               greatest(next_call_at, at + ${startSeconds} * interval '1 s') as first_at,
               rate_seconds * ${1 + leeway}::float8 / rate_calls as spacing
        from channels, clock_timestamp() as at
        where ${isGiven('id')} and ${isChannelOpen}
          and (${hasLimits}
               or ${isChannelInSlowStart})),
      -- How many permits each limit leaves free.
      free_by as materialized (
        select limited.*,
               case when rate_calls is not null then least(${maxPermitsAtOnce}, greatest(
                 0, 1 + floor((${grantAheadSeconds} - extract(epoch from first_at - at)) / spacing))) end as by_rate,
               max_in_flight - in_flight as by_flight,
               case when not has_limits then ${permitsDuringSlowStart} - in_flight end as by_slow_start,
               case when breaker_open_until > at then 0 when breaker_open_until is not null then 1 end as by_breaker
        from limited cross join lateral (
          select count(*) as in_flight from permits p join sends s using (request_id)
          where p.channel_id = limited.id
            and ${isLive}) now),
      -- The strictest limit counts. is_trial: the state of the provider is unknown, and the calls should show it.
      available as materialized (
        select free_by.*, greatest(0, least(${maxPermitsAtOnce}, by_rate, by_flight, by_slow_start, by_breaker)::int) as permits,
               coalesce(by_breaker = 1, by_slow_start is not null) as is_trial
        from free_by),
      -- The first due sends of each channel, by priority, each with its place among them.
      due as materialized (
        select channels.id, channels.urgent_in_a_row, channels.normal_in_a_row, s.*,
               row_number() over (partition by channels.id, s.priority
                                  order by s.comes_last, s.next_attempt_at, s.seq) as place
        from available channels cross join ${eachPriority} cross join lateral (
          select s.request_id, s.attempt + 1 as attempt, ${overflowOf('s')} as overflow_of,
                 s.priority, s.next_attempt_at, s.seq, is_trial and ${isDoubtful} as comes_last
          from ${dueSends} s
          where s.channel_id = channels.id and s.priority = each_priority.priority and s.finished_at is null
            and ${isWakeable('channels.at')}
            and ${isLimited}
            and not ${isBehind}
            and not exists (select from permits p where ${isUsable})
          order by s.next_attempt_at, s.seq
          limit case when is_trial and permits > 0 then ${candidates} else permits end) s),
      -- The order of normal and bulk sends: one turn in ten is of a bulk send. The channel's last turns count, too.
      others as (
        select due.*, row_number() over (partition by id, priority = 'urgent' order by comes_last,
                 case when priority = 'bulk' then ${inARow} * place - normal_in_a_row else place end, priority) as nth
        from due),
      -- Likewise that of all: one turn in ten is not of an urgent send.
      turns as (
        select others.*, case when priority = 'urgent' then nth else ${inARow} * nth - urgent_in_a_row end as turn
        from others),
      -- The sends that get a permit, and the time of each call.
      chosen as materialized (
        select channels.*, s.request_id, s.attempt, case when not are_few then s.overflow_of end as overflow_of,
               s.priority, s.position, s.position * spacing * interval '1 s' + first_at as call_at,
               max(s.position) filter (where s.priority <> 'urgent') over (partition by channels.id) as last_other,
               max(s.position) filter (where s.priority = 'bulk') over (partition by channels.id) as last_bulk
        from available channels cross join lateral (
          select first.*, row_number() over (order by first.turn, first.priority) - 1 as position
          from (
            select request_id, attempt, overflow_of, priority, turn from turns
            where turns.id = channels.id
            order by comes_last, turn, priority
            limit permits) first) s),
      -- A send has one permit at most, so a new one replaces an old one that can't be used any more. Another one for the same
      -- attempt keeps the time since when none was used.
      granted as (
        insert into permits (request_id, channel_id, attempt, call_at, unused_since, valid_until, is_probe)
        select request_id, id, attempt, call_at, coalesce(call_at, at),
               coalesce(call_at + least($3, ${leeway}::float8 * rate_seconds) * interval '1 s',
                        at + $3 * interval '1 s'),
               breaker_open_until is not null
        from chosen
        on conflict (request_id) do update
          set channel_id = excluded.channel_id, attempt = excluded.attempt, call_at = excluded.call_at,
              unused_since = case when permits.attempt = excluded.attempt then permits.unused_since
                                  else excluded.unused_since end,
              valid_until = excluded.valid_until, is_probe = excluded.is_probe),
      -- The next calls come after these. A breaker that lets a probe through waits for its result.
      moved as (
        update channels
        set next_call_at = coalesce(last.call_at + last.spacing * interval '1 s', next_call_at),
            breaker_open_until = case when channels.breaker_open_until is not null
                                      then clock_timestamp() + $2 * interval '1 s' end,
            urgent_in_a_row = least(${inARow}, last.urgent + case when last.has_other then 0 else urgent_in_a_row end),
            normal_in_a_row = least(${inARow}, last.normal + case when last.has_bulk then 0 else normal_in_a_row end)
        -- Of each kind, how many were the last in a row.
        from (select id, spacing, max(call_at) as call_at,
                     count(*) filter (where priority = 'urgent' and position > coalesce(last_other, -1)) as urgent,
                     count(*) filter (where priority = 'normal' and position > coalesce(last_bulk, -1)) as normal,
                     max(last_other) is not null as has_other, max(last_bulk) is not null as has_bulk
              from chosen group by id, spacing) last
        where channels.id = last.id
        returning channels.id, next_call_at)
      -- When more permits may be free: if the breaker is open, when it lets a probe through; if one transaction
      -- couldn't grant all, at once; if the rate was used up, a little before its next call.
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
                             - ${grantAheadSeconds / 2}) end)::float8 as "moreInMs"
      from available left join chosen using (id) left join moved using (id)
      group by available.id, available.at, available.permits, available.first_at, available.by_rate, available.by_breaker,
               available.breaker_open_until, moved.next_call_at`,
  )

const grantStatements = {
  toAll: grantStatement('grant_permits', 'Grants the free permits of channels to their due sends.', 'sends'),
  // `limit 1` makes PostgreSQL read these sends by their ids, instead of all that wait.
  toSome: grantStatement(
    'grant_permits_to_some',
    'Like grant_permits, but only to given sends.',
    sqlText`
      (
        -- $4: these sends, each with its channel.
        select found.*
        from json_to_recordset($4) as given ("channelId" uuid, "requestId" uuid)
          cross join lateral (select * from sends where request_id = given."requestId" limit 1) found
        where given."channelId" = channels.id)`,
  ),
}

export interface GrantTimes {
  /** How long a circuit breaker waits for the result of a probe. */
  probeSeconds: number
  /**
   * How long a permit without a rate is valid: enough for the way through the queue. A permit with a rate is valid no longer
   * than this.
   */
  validSeconds: number
}

/**
 * Grants the free permits of channels to their waiting sends, the most urgent first, else in the order in which they fell due. Exact across any number of
 * workers, because the channel's row is locked before the permits are counted.
 *
 * @param only the sends that may get permits; by default all that are due.
 */
export async function grantPermits(
  db: Database | Transaction,
  channelIds: readonly string[],
  { probeSeconds, validSeconds }: GrantTimes,
  only?: readonly { channelId: string; requestId: string }[],
): Promise<GrantedPermits[]> {
  return await inTransaction(db, async (transaction) => {
    await lockStatement(transaction, [channelIds])
    await dropStatement(transaction, [channelIds])
    const values = [channelIds, probeSeconds, validSeconds]
    if (!only) return await grantStatements.toAll(transaction, values)
    const given = only.map(({ channelId, requestId }) => ({ channelId, requestId }))
    return await grantStatements.toSome(transaction, [...values, JSON.stringify(given)])
  })
}
