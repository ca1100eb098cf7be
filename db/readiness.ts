import { isUnfinished } from './lanes.ts'
import { sqlText } from './statement.ts'

/*
 * Whether a send may go, in parts: SQL about a send `s` and its row of `channels`. A worker may claim a send that
 * `isReady` and `isFree`. Whatever looks for sends that may go, or tells why one may not, is put together from the same parts;
 * for the support page, src/core/explanation/condition.ts decides alike (tests/workers/readiness.test.ts).
 */

const now = 'clock_timestamp()'

export const isQueued = `s.status = 'queued'`

/** @param at in SQL. With a column or `now()`, PostgreSQL can find the sends that are due by an index. */
export const isDue = (at = now) => `s.next_attempt_at <= ${at}`

/** Then a sweep fails it. */
export const isExpired = (at = now) => `coalesce(s.expires_at <= ${at}, false)`

/** By its own row: queued, due and not expired. */
export const isReady = (at = now) => sqlText`
  ${isQueued} and ${isDue(at)}
  and not ${isExpired(at)}`

export const isHeld = `(channels.held_at is not null)`

/**
 * It has to wait for an earlier send of its lane. With its limit, PostgreSQL looks for one in the lane, and doesn't read
 * all lanes at once.
 */
export const isBehind = sqlText`
  coalesce((
    select true from sends earlier
    where earlier.lane = s.lane and earlier.seq < s.seq and ${isUnfinished('earlier')} limit 1), false)`

/** Nothing is ahead of it, for a statement that reads all unfinished sends in one pass. */
export const isHeadOfAll = `(s.lane is null or s.seq = min(s.seq) over (partition by s.lane))`

/** All sends of the channel need permits. */
export const hasLimits = (channels = 'channels') =>
  `num_nonnulls(${channels}.rate_calls, ${channels}.max_in_flight, ${channels}.breaker_open_until) > 0`

const slowStartAfterSeconds = 10

/** No send of the channel's overflow has got an answer lately: then its overflow needs permits. */
export const isInSlowStart = (channels = 'channels') =>
  `coalesce(${channels}.answered_at < ${now} - interval '${slowStartAfterSeconds} s', true)`

/** It needs a permit (db/delivery/permits.ts). */
export const isLimited = (channels = 'channels') => sqlText`
  (${hasLimits(channels)}
   or s.overflow and ${isInSlowStart(channels)})`

/** Its next attempt may still use the permit `p`. */
export const isUsable = sqlText`
  p.request_id = s.request_id and p.attempt = s.attempt + 1
  and p.valid_until > ${now}`

/** So long before its call a send is woken: it waits for the moment with all prepared. */
export const headStartMs = 100

/** How long until its wake-up by its permit, also against the channel's circuit breaker; null where it has none. */
export const permitInMs = sqlText`
  (select ceil(greatest(0, coalesce(extract(epoch from p.call_at - ${now}) * 1000, 0) - ${headStartMs}))::float8
   from permits p
   where ${isUsable}
     and (p.is_probe or channels.breaker_open_until is null))`

/** One that came long before its call would take up a slot until then. */
export const hasPermit = `coalesce(${permitInMs} < ${headStartMs}, false)`

/** Neither its channel nor its lane nor a limit is in its way. */
export const isFree = sqlText`
  not ${isHeld}
  and not ${isBehind}
  and (not ${isLimited()}
       or ${hasPermit})`
