import { ownReasonOf } from '../sends/own-reasons.ts'
import { causes } from '../suppression/suppression.ts'
import type { Condition } from './condition.ts'
import { replayWhen } from './fault.ts'
import {
  type Advice,
  type ConditionTexts,
  type Details,
  maxCountedMoreUrgent,
  type Renderer,
} from './model.ts'
import { because, clock, count, moment, sentence } from './phrases.ts'

/** @param cause absent if the recorded reason says all */
const notDelivered =
  (cause?: string): Renderer<{ reason: string }, string> =>
  ({ reason }, { attempts }) => {
    const why = cause === undefined ? sentence(reason) : `${cause}${because(reason)}.`
    return ['Not delivered.', why, attempts].filter(Boolean).join(' ')
  }

/** A sentence for a customer, with the time at which it holds. */
export const asOf =
  (words: string): Renderer<unknown, string> =>
  (_, details) =>
    `${words}, as of ${details.moment}`

/** `, behind 312 more urgent messages of its channel`; empty if there are none. */
export function behindMoreUrgent(moreUrgent: number): string {
  if (moreUrgent === 0) return ''
  const least = moreUrgent >= maxCountedMoreUrgent ? 'at least ' : ''
  return `, behind ${least}${count(moreUrgent, 'more urgent message')} of its channel`
}

const attemptsFailed: Renderer<unknown, string> = (_, { timeline: { attempts }, moment }) =>
  `could not be delivered${attempts > 0 ? ` in ${count(attempts, 'attempt')}` : ''}, as of ${moment}`

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
  [Kind in Exclude<Condition['kind'], 'waiting'>]: ConditionTexts<Extract<Condition, { kind: Kind }>>
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
      `Not delivered. It waited longer than its channel or its request allows, and expired at ${clock(at, now)}. ${attempts}`,
    customer: (_, { moment }) =>
      `could not be delivered in time and was given up at ${moment}, so that it does not arrive late`,
    advice: 'Send a new message if it is still useful.',
  },
  suppressed: {
    summary: ({ cause }, { attempts }) =>
      `Not delivered. Its contact is suppressed: ${causes[cause].because}. ${attempts}`,
    customer: asOf('was not delivered, because the contact gets no messages'),
    advice: 'Remove the contact from the suppression list only if the contact wants messages again.',
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
  in_queue: {
    summary: (_, { moreUrgent }) => `Waiting in the queue for a worker${behindMoreUrgent(moreUrgent)}.`,
    customer: asOf('is waiting to be sent'),
    next: 'It is sent when a worker picks it up.',
  },
}
