import { heldByOperator, ownReasons } from '../own-reasons.ts'
import type { Timeline } from '../timeline.ts'
import { type Condition, lastOf, mayHaveGotThrough } from './condition.ts'
import { betterLuck } from './fault.ts'
import { type Advice, type Explanation, mostCountedAhead, type SendFacts } from './model.ts'
import { because, clock, count, moment } from './words.ts'

/** What words of a condition may need beside it. */
export interface Given extends SendFacts {
  timeline: Timeline
  /** `3 attempts, the last at 14:02:11 UTC` */
  attempts: string
  /** When it ended, or else now, as a customer reads it. */
  moment: string
}

type Teller<C, Told> = (condition: C, given: Given) => Told

export interface ConditionWords<C> {
  /** A sentence for support. */
  summary: Teller<C, string>
  /** For the customer, without internals: goes on after "Your text message …,". */
  customer: Teller<C, string>
  /** What comes next of itself, at a moment that isn't known where it is a sentence alone. */
  next?: string | Teller<C, NonNullable<Explanation['next']>>
  /** What people can do. */
  advice?: string | Teller<C, Advice>
}

const notDelivered =
  (how: string): Teller<{ reason: string }, string> =>
  ({ reason }, { attempts }) =>
    `Not delivered${how}${because(reason)}; ${attempts}.`

const asOf =
  (words: string): Teller<unknown, string> =>
  (_, given) =>
    `${words}, as of ${given.moment}`

const triedInVain: Teller<unknown, string> = (_, { timeline: { attempts }, moment }) =>
  `could not be delivered, in spite of ${attempts === 1 ? 'an attempt' : `${attempts} attempts`}, as of ${moment}`

const isDue = ({ at }: { at: Date }) => `is waiting to be sent; the next attempt is due at ${moment(at)}`

const nextAttempt = ({ at }: { at: Date }) => ({ at: at.toISOString(), text: 'The next attempt is due.' })

const sendAnother = 'Fix the problem above and send a new message. A replay would be refused again.'
const lookIntoLogs = 'Look into the logs of the workers'

function replay(text: string, { timeline: { requestId } }: Given): Advice {
  return { text, command: `replay ${requestId}` }
}

const replayLater: Teller<Extract<Condition, { kind: 'gave_up' | 'failed_late' }>, Advice> = (
  { fault },
  given,
) => replay(`Replay it when ${betterLuck[fault ?? 'provider']}.`, given)

/** All that is said of a condition, kind by kind. */
export const conditionWords: {
  [Kind in Condition['kind']]: ConditionWords<Extract<Condition, { kind: Kind }>>
} = {
  sent: {
    summary: ({ at, note }, { now }) =>
      `Accepted by the provider at ${clock(at, now)}${because(note ?? '')}; whether it reached the contact, the provider alone knows.`,
    customer: (_, { moment }) =>
      `was taken for delivery by the provider at ${moment}; whether it has arrived, only the provider can tell`,
  },
  refused: {
    summary: notDelivered(': the provider refused it'),
    customer: asOf('was refused and not delivered'),
    advice: sendAnother,
  },
  unsendable: {
    summary: notDelivered(': it could not be sent'),
    customer: asOf('was refused and not delivered'),
    advice: sendAnother,
  },
  gave_up: {
    summary: notDelivered(': every attempt failed'),
    customer: triedInVain,
    advice: replayLater,
  },
  failed_late: {
    summary: notDelivered(': its outcome came late, so that it is not tried again'),
    customer: asOf('was refused and not delivered'),
    advice: replayLater,
  },
  provider_away: {
    summary: notDelivered(''),
    customer: triedInVain,
    advice: (_, given) => replay(`Replay it when ${betterLuck.provider}.`, given),
  },
  expired: {
    summary: ({ at }, { now, attempts }) =>
      `Not delivered: it had waited longer than its channel lets it, and expired at ${clock(at, now)}; ${attempts}.`,
    customer: (_, { moment }) =>
      `could not be delivered in time and was given up at ${moment}, so that it does not arrive late`,
    advice: 'Send a new message, if it is still worth anything.',
  },
  channel_deleted: {
    summary: (_, { attempts }) => `Not delivered: its channel was deleted while it waited; ${attempts}.`,
    customer: asOf('was not delivered'),
  },
  givenUp: {
    summary: notDelivered(''),
    customer: asOf('was not delivered because of a fault on our side'),
    advice: `${lookIntoLogs} before it is replayed: it may be what ended them.`,
  },
  media_gone: {
    summary: () => 'Not delivered: its media is no longer kept, so the provider was not called.',
    customer: asOf('was not delivered, since its media is no longer kept'),
    advice: 'Send a new message. This one cannot be replayed.',
  },
  failed_in_doubt: {
    summary: ({ reason }, { attempts }) =>
      `Given up, though an attempt may have got through${because(reason)}; ${attempts}.`,
    customer: (_, { moment }) =>
      `may or may not have been delivered, as of ${moment}, and is not tried again`,
    advice({ reason }) {
      const isGivenUp = reason.startsWith(ownReasons.givenUp)
      const logs = isGivenUp ? ` ${lookIntoLogs}, too: it may be what ended them.` : ''
      return {
        text: `Look for the message at the provider before it is replayed or sent anew: the contact may get it twice.${logs}`,
      }
    },
  },
  failed_otherwise: { summary: notDelivered(''), customer: asOf('was not delivered') },
  uncertain: {
    summary: ({ reason }, { attempts }) =>
      `Not certain: the provider may or may not have it${because(reason)}; ${attempts}.`,
    customer: (_, { moment }) => `may or may not have been delivered, as of ${moment}; we cannot tell yet`,
    advice: (_, given) =>
      replay(
        'Look for the message at the provider first. Replay it only if the provider does not have it.',
        given,
      ),
  },
  sending: {
    summary: ({ since }, { now }) =>
      `On its way: an attempt began at ${clock(since, now)}, and the provider has yet to answer.`,
    customer: (_, { moment }) => `is being sent at this moment, ${moment}`,
    next: 'It ends, or is tried again, as the provider answers.',
  },
  held: {
    summary({ since, reason }, { channel, now }) {
      const why = reason === heldByOperator ? ', by an operator' : because(reason ?? '')
      return `Waiting: the channel ${channel.name} has been held since ${clock(since, now)}${why}.`
    },
    customer: asOf('is waiting to be sent'),
    next: 'It goes on when the channel is resumed.',
    advice: ({ reason }, { channel }) => ({
      text:
        reason === heldByOperator
          ? 'Resume the channel when its messages may go again.'
          : 'Fix the problem above, then resume the channel.',
      command: `channel resume ${channel.channelId}`,
    }),
  },
  behind: {
    summary: () => 'Waiting: behind an earlier message to this contact.',
    customer: asOf('is waiting for an earlier message to the same contact'),
    next({ ahead: { count: number, first } }) {
      const least = number === mostCountedAhead ? 'at least ' : ''
      const others =
        number > 1 ? ` and ${least}${count(number - 1, 'more message')} to this contact have` : ' has'
      return { at: null, text: `It goes when ${first.requestId}, which is ${first.status},${others} ended.` }
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
    summary: () => "Waiting: the calls of the channel's provider have been failing, so few are made.",
    customer: asOf('is waiting to be sent'),
    next: ({ until }) => ({
      at: until.toISOString(),
      text: 'A single call is tried from then on; the others follow if it goes through.',
    }),
  },
  waits_for_permit: {
    summary({ limits: { rate, maxInFlight } }) {
      const limits = [
        rate && `at most ${count(rate.calls, 'call')} in ${rate.seconds} s`,
        maxInFlight && `at most ${count(maxInFlight, 'call')} at a time`,
      ]
      return `Waiting for its turn: the channel makes ${limits.filter(Boolean).join(', and ')}.`
    },
    customer: asOf('is waiting to be sent'),
    next: 'It goes when its turn comes.',
  },
  in_queue: {
    summary: () => 'Waiting in the queue for a worker.',
    customer: asOf('is waiting to be sent'),
    next: 'It goes when a worker takes it.',
  },
}
