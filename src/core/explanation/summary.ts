import { heldByOperator, ownReasons } from '../own-reasons.ts'
import type { Timeline } from '../timeline.ts'
import { type Condition, isErased, lastOf, mayHaveGotThrough } from './condition.ts'
import { betterLuck } from './fault.ts'
import { type Advice, type Explanation, mostCountedAhead, type SendFacts } from './model.ts'
import { because, clock, count } from './words.ts'

/** One plain sentence, and another where the contact was erased. */
export function summaryOf(condition: Condition, timeline: Timeline, facts: SendFacts): string {
  const sentence = sentenceOf(condition, timeline, facts)
  return isErased(timeline) ? `${sentence} Its contact and content were erased since.` : sentence
}

function sentenceOf(condition: Condition, timeline: Timeline, { now, channel }: SendFacts): string {
  const attempts = attemptsOf(timeline, now)
  switch (condition.kind) {
    case 'sent':
      return `Accepted by the provider at ${clock(condition.at, now)}${because(condition.note ?? '')}; whether it reached the contact, the provider alone knows.`
    case 'refused':
      return `Not delivered: the provider refused it${because(condition.reason)}; ${attempts}.`
    case 'unsendable':
      return `Not delivered: it could not be sent${because(condition.reason)}; ${attempts}.`
    case 'gave_up':
      return `Not delivered: every attempt failed${because(condition.reason)}; ${attempts}.`
    case 'failed_late':
      return `Not delivered: its outcome came late, so that it is not tried again${because(condition.reason)}; ${attempts}.`
    case 'provider_away':
    case 'givenUp':
    case 'failed_otherwise':
      return `Not delivered${because(condition.reason)}; ${attempts}.`
    case 'expired':
      return `Not delivered: it had waited longer than its channel lets it, and expired at ${clock(condition.at, now)}; ${attempts}.`
    case 'channel_deleted':
      return `Not delivered: its channel was deleted while it waited; ${attempts}.`
    case 'media_gone':
      return 'Not delivered: its media is no longer kept, so the provider was not called.'
    case 'failed_in_doubt':
      return `Given up, though an attempt may have got through${because(condition.reason)}; ${attempts}.`
    case 'uncertain':
      return `Not certain: the provider may or may not have it${because(condition.reason)}; ${attempts}.`
    case 'sending':
      return `On its way: an attempt began at ${clock(condition.since, now)}, and the provider has yet to answer.`
    case 'held': {
      const { since, reason } = condition
      const why = reason === heldByOperator ? ', by an operator' : because(reason ?? '')
      return `Waiting: the channel ${channel.name} has been held since ${clock(since, now)}${why}.`
    }
    case 'behind':
      return 'Waiting: behind an earlier message to this contact.'
    case 'retry': {
      const before = mayHaveGotThrough(timeline.events)
        ? 'an earlier one may have got through'
        : lastOf(timeline.events, 'attempt_finished')?.outcome === 'not_called'
          ? 'the last one ended before the provider was called'
          : 'the last one did not go through'
      return `Waiting for its next attempt, at ${clock(condition.at, now)}; ${before}${because(condition.reason)}.`
    }
    case 'replayed':
      return `Waiting: it was replayed, and is due at ${clock(condition.at, now)}.`
    case 'breaker_open':
      return "Waiting: the calls of the channel's provider have been failing, so few are made."
    case 'waits_for_permit':
      return `Waiting for its turn: the channel makes ${limitsIn(condition.limits)}.`
    case 'in_queue':
      return 'Waiting in the queue for a worker.'
    default:
      return condition satisfies never
  }
}

/** `3 attempts, the last at 14:02:11 UTC`. */
function attemptsOf({ attempts, events }: Timeline, now: Date): string {
  const last = lastOf(events, 'attempt_started')
  if (!last || attempts === 0) return 'no attempt was made'
  return `${count(attempts, 'attempt')}, ${attempts === 1 ? '' : 'the last '}at ${clock(last.at, now)}`
}

function limitsIn({ rate, maxInFlight }: Extract<Condition, { kind: 'waits_for_permit' }>['limits']): string {
  const limits = [
    rate && `at most ${count(rate.calls, 'call')} in ${rate.seconds} s`,
    maxInFlight && `at most ${count(maxInFlight, 'call')} at a time`,
  ]
  return limits.filter(Boolean).join(', and ')
}

/** What comes next of itself. */
export function nextOf(condition: Condition, facts: SendFacts): Explanation['next'] {
  const next = nextStep(condition)
  const { expiresAt, now } = facts
  if (!next || !expiresAt || condition.kind === 'sending') return next
  return { ...next, text: `${next.text} It expires if it still waits at ${clock(expiresAt, now)}.` }
}

function nextStep(condition: Condition): Explanation['next'] {
  switch (condition.kind) {
    case 'sending':
      return { at: null, text: 'It ends, or is tried again, as the provider answers.' }
    case 'held':
      return { at: null, text: 'It goes on when the channel is resumed.' }
    case 'behind': {
      const { count: number, first } = condition.ahead
      const least = number === mostCountedAhead ? 'at least ' : ''
      const others =
        number > 1 ? ` and ${least}${count(number - 1, 'more message')} to this contact have` : ' has'
      return { at: null, text: `It goes when ${first.requestId}, which is ${first.status},${others} ended.` }
    }
    case 'retry':
    case 'replayed':
      return { at: condition.at.toISOString(), text: 'The next attempt is due.' }
    case 'breaker_open':
      return {
        at: condition.until.toISOString(),
        text: 'A single call is tried from then on; the others follow if it goes through.',
      }
    case 'waits_for_permit':
      return { at: null, text: 'It goes when its turn comes.' }
    case 'in_queue':
      return { at: null, text: 'It goes when a worker takes it.' }
    default:
      return undefined
  }
}

const lookIntoLogs = 'Look into the logs of the workers'

/** A send of a deleted channel can't be replayed. */
function adviceOnDeletedChannel({ kind }: Condition): Advice | undefined {
  if (kind === 'sent' || kind === 'sending') return undefined
  return {
    text:
      kind === 'uncertain' || kind === 'failed_in_doubt'
        ? 'Look for the message at the provider; its channel was deleted, so it cannot be replayed.'
        : 'Its channel was deleted: send a new message by another channel.',
  }
}

/** What people can do. */
export function adviceOn(
  condition: Condition,
  timeline: Timeline,
  { channel }: SendFacts,
): Advice | undefined {
  if (isErased(timeline)) return undefined
  const { requestId } = timeline
  if (channel.deletedAt) return adviceOnDeletedChannel(condition)
  switch (condition.kind) {
    case 'refused':
    case 'unsendable':
      return { text: 'Fix the problem above and send a new message. A replay would be refused again.' }
    case 'gave_up':
    case 'failed_late':
      return {
        text: `Replay it when ${betterLuck[condition.fault ?? 'provider']}.`,
        command: `replay ${requestId}`,
      }
    case 'provider_away':
      return { text: `Replay it when ${betterLuck.provider}.`, command: `replay ${requestId}` }
    case 'expired':
      return { text: 'Send a new message, if it is still worth anything.' }
    case 'media_gone':
      return { text: 'Send a new message. This one cannot be replayed.' }
    case 'givenUp':
      return { text: `${lookIntoLogs} before it is replayed: it may be what ended them.` }
    case 'failed_in_doubt': {
      const isGivenUp = condition.reason.startsWith(ownReasons.givenUp)
      const logs = isGivenUp ? ` ${lookIntoLogs}, too: it may be what ended them.` : ''
      return {
        text: `Look for the message at the provider before it is replayed or sent anew: the contact may get it twice.${logs}`,
      }
    }
    case 'uncertain':
      return {
        text: 'Look for the message at the provider first. Replay it only if the provider does not have it.',
        command: `replay ${requestId}`,
      }
    case 'held':
      return {
        text:
          condition.reason === heldByOperator
            ? 'Resume the channel when its messages may go again.'
            : 'Fix the problem above, then resume the channel.',
        command: `channel resume ${channel.channelId}`,
      }
    default:
      return undefined
  }
}
