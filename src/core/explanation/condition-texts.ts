import { mayHaveGotThrough } from '../sends/doubt.ts'
import { operatorsReason, ownReasonOf } from '../sends/own-reasons.ts'
import type { Timeline } from '../sends/timeline.ts'
import { causes } from '../suppression/suppression.ts'
import { type Condition, lastOf } from './condition.ts'
import { replayWhen } from './fault.ts'
import { type Advice, type Explanation, maxCountedAhead, type SendFacts } from './model.ts'
import { because, clock, count, moment, sentence } from './phrases.ts'

/** What the sentences about a condition may refer to. */
export interface Details extends SendFacts {
  timeline: Timeline
  /** `3 attempts were made, the last at 14:02:11 UTC.` */
  attempts: string
  /** The time of its end, or else now, as shown to a customer. */
  moment: string
}

type Renderer<C, Text> = (condition: C, details: Details) => Text

export interface ConditionTexts<C> {
  /** For support, in short sentences. */
  summary: Renderer<C, string>
  /** For the customer, without internals: continues after "Your text message …,". */
  customer: Renderer<C, string>
  /** What the service does next. A string alone means that the time isn't known. */
  next?: string | Renderer<C, NonNullable<Explanation['next']>>
  /** What support or an operator can do. */
  advice?: string | Renderer<C, Advice>
}

/** @param cause absent if the recorded reason says all */
const notDelivered =
  (cause?: string): Renderer<{ reason: string }, string> =>
  ({ reason }, { attempts }) => {
    const why = cause === undefined ? sentence(reason) : `${cause}${because(reason)}.`
    return ['Not delivered.', why, attempts].filter(Boolean).join(' ')
  }

const asOf =
  (words: string): Renderer<unknown, string> =>
  (_, details) =>
    `${words}, as of ${details.moment}`

const attemptsFailed: Renderer<unknown, string> = (_, { timeline: { attempts }, moment }) =>
  `could not be delivered${attempts > 0 ? ` in ${count(attempts, 'attempt')}` : ''}, as of ${moment}`

const isDue = ({ at }: { at: Date }) => `is waiting to be sent; the next attempt is due at ${moment(at)}`

const nextAttempt = ({ at }: { at: Date }) => ({ at: at.toISOString(), text: 'The next attempt is due.' })

const sendAnother = 'Fix the problem above and send a new message. A replay would be refused again.'

const checkLogs = 'Check the logs of the workers'

function replay(text: string, { timeline: { requestId } }: Details): Advice {
  return { text, command: `replay ${requestId}` }
}

const replayLater: Renderer<Extract<Condition, { kind: 'attempts_failed' | 'failed_late' }>, Advice> = (
  { fault },
  details,
) => replay(`Replay it when ${replayWhen[fault ?? 'provider']}.`, details)

/** All sentences about a condition, by its kind. */
export const conditionTexts: {
  [Kind in Condition['kind']]: ConditionTexts<Extract<Condition, { kind: Kind }>>
} = {
  sent: {
    summary: ({ at, note }, { now }) =>
      `Accepted by the provider at ${clock(at, now)}${because(note ?? '')}; only the provider knows whether it reached the contact.`,
    customer: (_, { moment }) =>
      `was accepted for delivery by the provider at ${moment}; only the provider knows whether it has arrived`,
  },
  delivered: {
    summary: ({ at }, { now }) =>
      `Delivered: the provider reported at ${clock(at, now)} that the contact got it.`,
    customer: ({ at }) => `was delivered; the provider reported it at ${moment(at)}`,
  },
  read: {
    summary: ({ at }, { now }) =>
      `Read: the provider reported at ${clock(at, now)} that the contact read it.`,
    customer: ({ at }) => `was delivered and read; the provider reported it at ${moment(at)}`,
  },
  undelivered: {
    summary: ({ at, reason }, { now }) =>
      `Not delivered. The provider accepted it, but reported at ${clock(at, now)} that it could not deliver it${because(reason)}.`,
    customer: ({ at }) => `was sent, but could not be delivered; the provider reported it at ${moment(at)}`,
    advice: 'Fix the problem above and send a new message. This one cannot be replayed.',
  },
  no_receipt: {
    summary: ({ at }, { now }) =>
      `Accepted by the provider at ${clock(at, now)}. No receipt came, so it is not known whether it reached the contact.`,
    customer: (_, { moment }) =>
      `was accepted for delivery by the provider at ${moment}; no receipt came, so we do not know whether it has arrived`,
    advice:
      'Look for the message at the provider. If other messages of the channel have no receipts either, check its receipts.',
  },
  refused: {
    summary: notDelivered('The provider refused it'),
    customer: asOf('was refused and not delivered'),
    advice: sendAnother,
  },
  unsendable: {
    summary: notDelivered('It could not be sent'),
    customer: asOf('was refused and not delivered'),
    advice: sendAnother,
  },
  attempts_failed: {
    summary: notDelivered('Every attempt failed'),
    customer: attemptsFailed,
    advice: replayLater,
  },
  failed_late: {
    summary: notDelivered('Its outcome came late, so it is not tried again'),
    customer: asOf('was refused and not delivered'),
    advice: replayLater,
  },
  provider_away: {
    summary: notDelivered(),
    customer: attemptsFailed,
    advice: (_, details) => replay(`Replay it when ${replayWhen.provider}.`, details),
  },
  expired: {
    summary: ({ at }, { now, attempts }) =>
      `Not delivered. It waited longer than its channel allows, and expired at ${clock(at, now)}. ${attempts}`,
    customer: (_, { moment }) =>
      `could not be delivered in time and was given up at ${moment}, so that it does not arrive late`,
    advice: 'Send a new message if it is still useful.',
  },
  suppressed: {
    summary: ({ cause }, { attempts }) =>
      `Not delivered. Its contact gets nothing from this account: ${causes[cause].because}. ${attempts}`,
    customer: asOf('was not delivered, because the contact gets no messages'),
    advice: 'Remove the contact from the list of suppressions only if the contact wants messages again.',
  },
  channel_deleted: {
    summary: (_, { attempts }) => `Not delivered. Its channel was deleted while it waited. ${attempts}`,
    customer: asOf('was not delivered'),
  },
  crashed_workers: {
    summary: notDelivered(),
    customer: asOf('was not delivered because of a fault on our side'),
    advice: `${checkLogs} before it is replayed: it may have crashed them.`,
  },
  media_gone: {
    summary: () => 'Not delivered. Its media is no longer kept, so the provider was not called.',
    customer: asOf('was not delivered, since its media is no longer kept'),
    advice: 'Send a new message. This one cannot be replayed.',
  },
  settled_failed: {
    summary: ({ reason }, { attempts }) =>
      `Not delivered. A person found that the provider does not have it${because(reason)}. ${attempts}`,
    customer: asOf('was not delivered'),
    advice: (_, details) => replay('Replay it if it is still useful.', details),
  },
  failed_in_doubt: {
    summary: ({ reason }, { attempts }) =>
      `Given up, though an attempt may have got through${because(reason.replace(/^given up: /, ''))}. ${attempts}`,
    customer: (_, { moment }) =>
      `may or may not have been delivered, as of ${moment}, and is not tried again`,
    advice({ reason }) {
      const isGivenUp = ownReasonOf(reason) === 'givenUp'
      const logs = isGivenUp ? ` ${checkLogs} too: it may have crashed them.` : ''
      return {
        text: `Look for the message at the provider before it is replayed or sent again: the contact may get it twice.${logs}`,
      }
    },
  },
  failed_otherwise: { summary: notDelivered(), customer: asOf('was not delivered') },
  uncertain: {
    summary: ({ reason }, { attempts }) =>
      `Not certain. The provider may or may not have it${because(reason)}. ${attempts}`,
    customer: (_, { moment }) => `may or may not have been delivered, as of ${moment}; we cannot tell yet`,
    advice: (_, details) =>
      replay(
        'Look for the message at the provider first. Replay it only if the provider does not have it.',
        details,
      ),
  },
  canceled_in_doubt: {
    summary: (_, { attempts }) =>
      `Canceled after an attempt that may have got through. It is not tried again. ${attempts}`,
    customer: (_, { moment }) =>
      `was canceled at ${moment}, but may have been delivered before; we cannot tell yet`,
    advice: 'Look for the message at the provider. This one cannot be replayed.',
  },
  canceled: {
    summary: ({ at }, { now, attempts }) => `Not sent. It was canceled at ${clock(at, now)}. ${attempts}`,
    customer: (_, { moment }) => `was canceled at ${moment}, and not sent`,
  },
  scheduled: {
    summary: ({ at }, { now }) => `Scheduled for ${clock(at, now)}; it is not sent before.`,
    customer: ({ at }) => `is scheduled for ${moment(at)}`,
    next: ({ at }) => ({ at: at.toISOString(), text: 'Then it is sent.' }),
  },
  sending: {
    summary: ({ since }, { now }) =>
      `On its way: an attempt began at ${clock(since, now)}, and the provider has not answered yet.`,
    customer: (_, { moment }) => `is being sent at this moment, ${moment}`,
    next: "The provider's answer decides whether it ends or is tried again.",
  },
  held: {
    summary({ since, reason }, { channel, now }) {
      const why = operatorsReason(reason ?? '')
      const by = why === undefined ? '' : ' by an operator'
      const held = `Waiting: the channel ${channel.name} has been held${by} since ${clock(since, now)}.`
      const given = why ?? reason
      return given ? `${held} ${sentence(given)}` : held
    },
    customer: asOf('is waiting to be sent'),
    next: 'It is sent when the channel is resumed.',
    advice: ({ reason }, { channel }) => ({
      text:
        operatorsReason(reason ?? '') === undefined
          ? 'Fix the problem above, then resume the channel.'
          : 'Resume the channel when its messages may be sent again.',
      command: `channel resume ${channel.channelId}`,
    }),
  },
  behind: {
    summary: () => 'Waiting: behind an earlier message to this contact.',
    customer: asOf('is waiting for an earlier message to the same contact'),
    next({ ahead: { count: number, first } }) {
      const least = number === maxCountedAhead ? 'at least ' : ''
      const others =
        number > 1 ? ` and ${least}${count(number - 1, 'more message')} to this contact have` : ' has'
      return {
        at: null,
        text: `It is sent when ${first.requestId}, which is ${first.status},${others} ended.`,
      }
    },
  },
  retry: {
    summary({ at, reason }, { timeline: { events }, now }) {
      const before = mayHaveGotThrough(events)
        ? 'an earlier one may have got through'
        : lastOf(events, 'attempt_finished')?.outcome === 'not_called'
          ? 'the last one ended before the provider was called'
          : 'the last one did not go through'
      return `Waiting for its next attempt, at ${clock(at, now)}; ${before}${because(reason)}.`
    },
    customer: isDue,
    next: nextAttempt,
  },
  replayed: {
    summary: ({ at }, { now }) => `Waiting: it was replayed, and is due at ${clock(at, now)}.`,
    customer: isDue,
    next: nextAttempt,
  },
  breaker_open: {
    summary: () => "Waiting: calls to the channel's provider have been failing, so only probes are made.",
    customer: asOf('is waiting to be sent'),
    next: ({ until }) => ({
      at: until.toISOString(),
      text: 'Then a single call is made as a probe; the others follow if it succeeds.',
    }),
  },
  waits_for_permit: {
    summary({ limits: { rate, maxInFlight } }) {
      const limits = [
        rate && `at most ${count(rate.calls, 'call')} in ${rate.seconds} s`,
        maxInFlight && `at most ${count(maxInFlight, 'call')} at a time`,
      ]
      return `Waiting for the limits of its channel, which makes ${limits.filter(Boolean).join(', and ')}.`
    },
    customer: asOf('is waiting to be sent'),
    next: 'It is sent when the limits allow it.',
  },
  slow_start: {
    summary: () =>
      'Waiting: of a backlog, only a few messages are sent at a time until the provider answers one.',
    customer: asOf('is waiting to be sent'),
    next: 'It is sent when one of the messages before it has ended, or when the provider answers.',
  },
  in_queue: {
    summary: () => 'Waiting in the queue for a worker.',
    customer: asOf('is waiting to be sent'),
    next: 'It is sent when a worker picks it up.',
  },
}
