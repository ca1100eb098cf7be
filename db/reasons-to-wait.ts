import { asOf, behindMoreUrgent } from '../src/core/explanation/condition-texts.ts'
import { maxCountedAhead, type WaitTexts } from '../src/core/explanation/model.ts'
import { because, clock, count, moment, sentence } from '../src/core/explanation/phrases.ts'
import { slowStartAfterSeconds } from '../src/core/sends/delivery-times.ts'
import { mayHaveGotThrough } from '../src/core/sends/doubt.ts'
import { operatorsReason } from '../src/core/sends/own-reasons.ts'
import { isOfReceipt, type Timeline } from '../src/core/sends/timeline.ts'
import { ceilingUntil } from './ceilings/ceiling-rule.ts'
import { isUnfinished } from './delivery/lane-rule.ts'
import { sqlText } from './statement.ts'

/** SQL that is true for a channel of whose overflow no send got an answer lately. */
export const isChannelInSlowStart = `coalesce(channels.answered_at < clock_timestamp() - interval '${slowStartAfterSeconds} s', true)`

/** SQL of the end of the quiet hours of a send `s`; null if it may be called (migration 0041). @param at SQL of the time, if it isn't now. */
const quietUntilAt = (at = '') =>
  `quiet_until(channels.quiet_hours, s.priority, s.contact_type, s.contact_value${at && `, ${at}`})`
export const quietUntil = quietUntilAt()

/** Why a queued send waits, in SQL conditions on a send `s` and its row of `channels`, and in words. */
export interface ReasonToWait {
  /**
   * The place of what decides it: the time in the send's row, by which `isReady` finds it; the send with its channel; the sends
   * before it in its lane; or the channel alone, so that all its sends wait.
   */
  of: 'time' | 'send' | 'lane' | 'channel'
  /** SQL that is true while a send waits for it, else false; never null, which would keep the send for ever. */
  isWaiting: string
  /** SQL of the time when it ends; null if the end is an event, which wakes the send. */
  until: string | null
  /** SQL of the time when it would end for a send that is due at a later time `at`; null if that won't wait for it. For reasons that are known before. */
  untilAt?: (at: string) => string
  /** Whether a permit ends it before (db/delivery/permits.ts). */
  endsByPermit?: true
  /** Whether the time counts as a wait for the provider, after which a channel that keeps failing fails the send. */
  isBreakersWait: boolean
  /** Its label in the metric of the oldest waiting send; without one, the send counts as free. A channel's label comes before a send's. */
  waitsAs?: string
  /** Goes on after "It waits for", for clients and operators who ask before they send. */
  forWhat: string
  /** The texts for support and for the customer. */
  texts: WaitTexts
}

/** All reasons, the strongest first: while its channel is held, nothing else matters to a send. */
export const reasonsToWait = {
  held: {
    of: 'channel',
    isWaiting: 'channels.held_at is not null',
    until: null,
    isBreakersWait: false,
    waitsAs: 'stopped',
    forWhat: 'its channel, which is held',
    texts: {
      summary(_, { channel, now }) {
        const why = operatorsReason(channel.heldReason ?? '')
        const by = why === undefined ? '' : ' by an operator'
        const since = clock(channel.heldAt ?? now, now)
        const held = `Waiting: the channel ${channel.name} has been held${by} since ${since}.`
        const given = why ?? channel.heldReason
        return given ? `${held} ${sentence(given)}` : held
      },
      customer: asOf('is waiting to be sent'),
      next: 'It is sent when the channel is resumed.',
      advice: (_, { channel }) => ({
        text:
          operatorsReason(channel.heldReason ?? '') === undefined
            ? 'Fix the problem above, then resume the channel.'
            : 'Resume the channel when its messages may be sent again.',
        command: `channel resume ${channel.channelId}`,
      }),
    },
  },
  quiet_hours: {
    of: 'send',
    isWaiting: sqlText`
      ${quietUntil}
        is not null`,
    until: quietUntil,
    untilAt: quietUntilAt,
    isBreakersWait: false,
    forWhat: 'the end of quiet hours',
    texts: {
      summary({ until }, { timeline, now }) {
        const reason = reasonOfPostponed(timeline, 'quiet hours')
        return `Waiting: ${reason ?? `quiet hours until ${clock(until ?? now, now)}`}.`
      },
      customer: ({ until }, { now }) => `is waiting for the end of quiet hours, at ${moment(until ?? now)}`,
      next: endsAt('Then its quiet hours are over.'),
    },
  },
  ceiling: {
    of: 'send',
    isWaiting: sqlText`
      ${ceilingUntil}
        is not null`,
    until: ceilingUntil,
    isBreakersWait: false,
    forWhat: 'the next period of a ceiling',
    texts: {
      summary({ until }, { timeline, now }) {
        const reason = reasonOfPostponed(timeline, 'the ceiling')
        return `Waiting for ${reason ?? `its ceiling until ${clock(until ?? now, now)}`}.`
      },
      customer: ({ until }, { now }) => `is waiting to be sent, until ${moment(until ?? now)}`,
      next: endsAt('Then the next period of its ceiling begins.'),
      advice: () => ({ text: 'Raise the ceiling if more may be sent.' }),
    },
  },
  behind: {
    of: 'lane',
    // With `limit 1`, PostgreSQL searches that lane for an earlier send, instead of reading all lanes.
    isWaiting: sqlText`
      coalesce((
        select true from sends earlier
        where earlier.lane = s.lane and earlier.seq < s.seq
          and ${isUnfinished('earlier')}
        limit 1), false)`,
    until: null,
    isBreakersWait: true,
    forWhat: 'an earlier message to the same contact',
    texts: {
      summary: () => 'Waiting: behind an earlier message to this contact.',
      customer: asOf('is waiting for an earlier message to the same contact'),
      next(_, { ahead }) {
        if (!ahead) return { at: null, text: 'It is sent when the messages before it have ended.' }
        const least = ahead.count === maxCountedAhead ? 'at least ' : ''
        const others =
          ahead.count > 1
            ? ` and ${least}${count(ahead.count - 1, 'more message')} to this contact have`
            : ' has'
        const { requestId, status } = ahead.first
        return { at: null, text: `It is sent when ${requestId}, which is ${status},${others} ended.` }
      },
    },
  },
  retry: {
    of: 'time',
    isWaiting: 's.next_attempt_at > clock_timestamp()',
    until: 's.next_attempt_at',
    isBreakersWait: true,
    forWhat: 'its next attempt',
    texts: {
      summary({ until }, { timeline, now }) {
        const at = clock(until ?? now, now)
        const last = lastOfSend(timeline)
        if (last?.event === 'replayed') return `Waiting: it was replayed, and is due at ${at}.`
        const reason = because(String(last?.reason ?? ''))
        return `Waiting for its next attempt, at ${at}; ${lastAttemptOf(timeline)}${reason}.`
      },
      customer: ({ until }, { now }) =>
        `is waiting to be sent; the next attempt is due at ${moment(until ?? now)}`,
      next: endsAt('The next attempt is due.'),
    },
  },
  breaker_open: {
    of: 'channel',
    isWaiting: 'channels.breaker_open_until is not null',
    until: 'channels.breaker_open_until',
    endsByPermit: true,
    isBreakersWait: true,
    waitsAs: 'stopped',
    forWhat: "its channel's provider, which keeps failing",
    texts: {
      summary: () => "Waiting: calls to the channel's provider have been failing, so only probes are made.",
      customer: asOf('is waiting to be sent'),
      next: endsAt('Then a single call is made as a probe; the others follow if it succeeds.'),
    },
  },
  waits_for_permit: {
    of: 'channel',
    isWaiting: 'num_nonnulls(channels.rate_calls, channels.max_in_flight) > 0',
    until: null,
    endsByPermit: true,
    isBreakersWait: true,
    waitsAs: 'limited',
    forWhat: 'the limits of its channel',
    texts: {
      summary(_, { channel: { rate, maxInFlight }, moreUrgent }) {
        const limits = [
          rate && `at most ${count(rate.calls, 'call')} in ${rate.seconds} s`,
          maxInFlight && `at most ${count(maxInFlight, 'call')} at a time`,
        ]
        return `Waiting for the limits of its channel, which makes ${limits.filter(Boolean).join(', and ')}${behindMoreUrgent(moreUrgent)}.`
      },
      customer: asOf('is waiting to be sent'),
      next: 'It is sent when the limits allow it.',
    },
  },
  slow_start: {
    of: 'send',
    isWaiting: `s.overflow and ${isChannelInSlowStart}`,
    until: null,
    endsByPermit: true,
    isBreakersWait: true,
    forWhat: 'an answer of the provider to one of its backlog',
    texts: {
      summary: () =>
        'Waiting: of a backlog, only a few messages are sent at a time until the provider answers one.',
      customer: asOf('is waiting to be sent'),
      next: 'It is sent when one of the messages before it has ended, or when the provider answers.',
    },
  },
} satisfies Record<string, ReasonToWait>

/** Creates the text of a wait that ends at a known time. */
function endsAt(text: string): NonNullable<WaitTexts['next']> {
  return ({ until }) => ({ at: until?.toISOString() ?? null, text })
}

/** The reason for which it was last postponed, if it begins with these words. */
function reasonOfPostponed({ events }: Timeline, words: string): string | undefined {
  const reason = events.findLast(({ event }) => event === 'postponed')?.reason
  return typeof reason === 'string' && reason.startsWith(words) ? reason : undefined
}

/** How its last attempt ended, for a send that waits for the next one. */
function lastAttemptOf({ events }: Timeline): string {
  if (mayHaveGotThrough(events)) return 'an earlier one may have got through'
  const last = events.findLast(({ event }) => event === 'attempt_finished')
  return last?.outcome === 'not_called'
    ? 'the last one ended before the provider was called'
    : 'the last one did not go through'
}

const lastOfSend = ({ events }: Timeline) => events.findLast((event) => !isOfReceipt(event))
