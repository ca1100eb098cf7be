import { headStartMs } from '../src/core/sends/delivery-times.ts'
import { erasedPrefix } from '../src/core/suppression/suppression.ts'
import { entryKey, folded, hasCapitals } from './delivery/contact-rule.ts'
import { type ReasonToWait, reasonsToWait } from './reasons-to-wait.ts'
import { sqlText } from './statement.ts'

/*
 * The rule whether a send may go, in parts: SQL conditions on a send `s` and its row of `channels`. A worker may claim a send that
 * `isReady` and `isFree`, and whose contact isn't `isSuppressed`. All statements that search for such sends, or say why a send may not
 * go, are built from these parts. Why a send waits is in one table, db/reasons-to-wait.ts: each part that reads it takes a further
 * reason by itself (tests/workers/further-reason.slow.test.ts).
 */

const now = 'clock_timestamp()'

export const isQueued = `s.status = 'queued'`

/** @param at SQL of the time. A column or `now()` lets PostgreSQL find due sends by an index. */
export const isDue = (at = now) => `s.next_attempt_at <= ${at}`

/** A sweep fails expired sends. */
export const isExpired = (at = now) => `coalesce(s.expires_at <= ${at}, false)`

/** Ready by its own row: queued, due and not expired. */
export const isReady = (at = now) => sqlText`
  ${isQueued} and ${isDue(at)}
  and not ${isExpired(at)}`

const reasons: readonly ReasonToWait[] = Object.values(reasonsToWait)

/** SQL that is true while a send waits for none of these reasons. */
const noneOf = (which: readonly ReasonToWait[]) =>
  which.map(({ isWaiting }) => `(${isWaiting}) is not true`).join('\nand ') || 'true'

const anyOf = (which: readonly ReasonToWait[]) =>
  `(${which.map(({ isWaiting }) => isWaiting).join('\n or ')})`

const permitReasons = reasons.filter(({ endsByPermit }) => endsByPermit)
/** A send that waits for its time isn't ready; the others are what may keep one that is ready. */
const otherReasons = reasons.filter((reason) => !permitReasons.includes(reason) && reason.of !== 'time')

/** Its channel may have sends called, at least with permits. */
export const isChannelOpen = noneOf(otherReasons.filter((reason) => reason.of === 'channel'))

/** Ready, and not waiting by itself: it may be granted a permit, and be woken if it is the head of its lane. */
export const isWakeable = (at = now) =>
  [isReady(at), ...otherReasons.filter((reason) => reason.of === 'send').map((one) => noneOf([one]))].join(
    '\nand ',
  )

/** It waits for no event, but for a time or a permit. @param which the reasons to look at. */
const waitsForNoEvent = (which = otherReasons) => noneOf(which.filter(({ until }) => until === null))

/** A send that waits only for its time or its permit. */
export const needsOnlyTime = sqlText`
  ${isQueued} and not ${isExpired()} and
  ${waitsForNoEvent()}`

/** The head of a lane that waits for no event. */
export const headNeedsOnlyTime = waitsForNoEvent(otherReasons.filter((reason) => reason.of !== 'lane'))

const timedReasons = reasons.filter(({ until, endsByPermit }) => until !== null && !endsByPermit)

export const waitsForNoTime = noneOf(timedReasons)

/** SQL of the time until the last of its waits ends, except for permits; null if it waits for no time. */
export const endsInMs = sqlText`
  ceil(extract(epoch from greatest(
    ${timedReasons.map(({ isWaiting, until }) => `case when ${isWaiting} then ${until} end`).join(',\n')}
  ) - ${now}) * 1000)::float8`

/** The labels of the metric of the oldest waiting send (db/sends/backlog.ts). */
export const waitLabels = [...new Set(reasons.flatMap(({ waitsAs }) => waitsAs ?? []))]

const labelBy = (of: ReasonToWait['of']) =>
  reasons
    .filter((reason) => reason.of === of && reason.waitsAs)
    .map(({ isWaiting, waitsAs }) => `when ${isWaiting} then '${waitsAs}'`)

/** SQL of that label, by the reasons of the channel alone; null without one. */
export const channelWaitsAs = `case ${labelBy('channel').join('\n     ')} end`

/** SQL of that label, by the reasons of a send `s`; null without one. It costs nothing as long as there is no such reason. */
export const sendWaitsAs =
  labelBy('send').length === 0
    ? 'null::text'
    : sqlText`
      (select case ${labelBy('send').join('\n')} end
       from channels where channels.id = s.channel_id)`

/** It waits for nothing but its channel's provider, which keeps failing. */
export const isBreakersWait = noneOf(reasons.filter((reason) => !reason.isBreakersWait))

/** As long as there is no suppression at all, they cost this condition, read once a statement; hashes likewise. */
const anySuppression = '(select exists (select from suppressions))'
const anyErased = sqlText`
  (select exists (
     select from suppressions where erased_at is not null))`

/**
 * SQL of what an entry has in place of an erased contact: HMAC-SHA256 of account and contact.
 *
 * @param key SQL of the keys (`suppressionKey`).
 */
export const erasedValue = (key: string, accountId: string, contactValue: string) => sqlText`
  '${erasedPrefix}' || encode(sha256(
    substring(${key} from 65)
      || sha256(substring(${key} for 64)
        || convert_to(${accountId} || ' '
        || ${contactValue}, 'UTF8'))), 'hex')`

/**
 * SQL of the keys that entries of a contact may have: its folded value, and its hash if there are erased entries. Also that of a value
 * with capitals: the previous release hashed values as they were written.
 */
export const entryKeys = (key: string, accountId: string, contactValue: string) => sqlText`
  case when ${anyErased} then
    array[${folded(contactValue)},
          ${erasedValue(key, accountId, folded(contactValue))},
          case when ${hasCapitals(contactValue)} then
            ${erasedValue(key, accountId, contactValue)} end]
  else array[${folded(contactValue)}] end`

/** SQL of the cause for which the contact of a send `s` is suppressed; null if it isn't. One index probe. */
export const suppressedFor = (key: string) => sqlText`
  case when ${anySuppression} then
    (select e.cause from suppressions e
     where e.account_id = s.account_id
       and ${entryKey('e')} = any(
         ${entryKeys(key, 's.account_id', 's.contact_value')})
       and (e.channel_id is null or e.channel_id = s.channel_id)
     limit 1) end`

/** Its contact is suppressed for all channels of its account. */
export const isSuppressedEverywhere = (key: string) => sqlText`
  exists (
    select from suppressions e
    where e.account_id = s.account_id and e.channel_id is null
      and ${entryKey('e')} = any(
        ${entryKeys(key, 's.account_id', 's.contact_value')}))`

/** Its contact is suppressed for all channels of its account, or for its own. A worker fails such sends (db/suppression/fail-suppressed.ts). */
export const isSuppressed = (key: string) => sqlText`
  (${suppressedFor(key)} is not null)`

/**
 * SQL that adds checks of contacts that are suppressed, so that a worker fails their sends although no claim is near
 * (db/suppression/checks.ts). Not of erased ones: their sends fail when it is their turn.
 *
 * @param contacts SQL of a relation with `account_id` and `contact_value`.
 */
export const addChecks = (contacts: string) => sqlText`
  insert into suppression_checks (account_id, contact_value)
  select distinct c.account_id, c.contact_value
  from ${contacts} c
  where ${anySuppression} and coalesce((
    select true from suppressions e
    where e.account_id = c.account_id
      and ${entryKey('e')}
        = ${folded('c.contact_value')}
    limit 1), false)`

/** It has to wait for an earlier send of its lane. */
export const isBehind = reasonsToWait.behind.isWaiting

/** It is the head of its lane; for a statement that reads all unfinished sends in one pass. */
export const isHeadOfAll = `(s.lane is null or s.seq = min(s.seq) over (partition by s.lane))`

/** All sends of the channel need permits. */
export const hasLimits = anyOf(permitReasons.filter((reason) => reason.of === 'channel'))

/** It needs a permit (db/delivery/permits.ts). */
export const isLimited = anyOf(permitReasons)

/** Its next attempt may still use the permit `p`. */
export const isUsable = sqlText`
  p.request_id = s.request_id and p.attempt = s.attempt + 1
  and p.valid_until > ${now}`

/** Time until the wake-up by its permit, which also has to suit the channel's circuit breaker; null if it has none. */
export const permitInMs = sqlText`
  (select ceil(greatest(
     0, coalesce(extract(epoch from p.call_at - ${now}) * 1000, 0) - ${headStartMs}))::float8
   from permits p
   where ${isUsable}
     and (p.is_probe or channels.breaker_open_until is null))`

/** Its permit is due soon. A send claimed long before its call would occupy a slot until then. */
const hasPermit = sqlText`
  coalesce(
    ${permitInMs} < ${headStartMs}, false)`

/** No reason keeps it waiting but its time, which `isReady` looks at, or it has the permit that it needs. */
export const isFree = sqlText`
  ${noneOf(otherReasons)}
  and (not ${isLimited}
       or ${hasPermit})`

/** So many of a channel's more urgent sends are looked at. */
const mostCompared = 100

/**
 * SQL of the sends that go before a send of their channel: more urgent ones that may go, the most urgent first. On a channel with limits
 * they need no look, since its permits are granted by priority.
 *
 * @param mine SQL of a row with the channel and the priority of the send.
 */
export const moreUrgent = (mine: string) => sqlText`
  select s.request_id
  from (select * from sends s
        where s.channel_id = ${mine}.channel_id and s.priority < ${mine}.priority and s.finished_at is null
          and ${isReady()}
        order by s.priority, s.next_attempt_at limit ${mostCompared}) s
  where ${isFree}
  order by s.priority, s.next_attempt_at, s.seq`
