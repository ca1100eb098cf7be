import { mayHaveGotThrough } from '../sends/doubt.ts'
import type { Timeline } from '../sends/timeline.ts'
import { type Condition, conditionOf, isErased, lastOf } from './condition.ts'
import { conditionTexts } from './condition-texts.ts'
import { nameOf } from './event-sentences.ts'
import type { Advice, ConditionTexts, Details, Explanation, SendFacts } from './model.ts'
import { because, clock, moment } from './phrases.ts'

type Summary = Pick<Explanation, 'summary' | 'next' | 'advice' | 'forCustomer'>

/** The sentences about a send's condition. */
export function summarize(timeline: Timeline, facts: SendFacts): Summary {
  const condition = conditionOf(timeline, facts)
  const words = textsOf(condition)
  const details = {
    ...facts,
    timeline,
    attempts: attemptsOf(timeline, facts.now),
    moment: moment(timeline.finishedAt ?? facts.now),
  }
  const summary = `${words.summary(condition, details)}${fallbacksOf(timeline, facts)}`
  const next = nextOf(words, condition, details)
  const advice = adviceOn(words, condition, details)
  return {
    summary: isErased(timeline) ? `${summary} Its contact and content were erased later.` : summary,
    ...(next && { next }),
    ...(advice && { advice }),
    forCustomer: `${subjectFor(timeline)} ${words.customer(condition, details)}${doubtOf(timeline)}.`,
  }
}

const textsOf = (condition: Condition) =>
  (condition.kind === 'waiting'
    ? condition.texts
    : conditionTexts[condition.kind]) as ConditionTexts<Condition>

/** When it went on by other channels, and why. */
function fallbacksOf({ events }: Timeline, { channels, now }: SendFacts): string {
  return events
    .filter((event) => event.event === 'fell_back')
    .map(({ at, fromChannelId, toChannelId, reason }) => {
      const [from, to] = [fromChannelId, toChannelId].map((id) => nameOf(channels, id))
      return ` At ${clock(at, now)} it went on by ${to}, because ${from} could not deliver it${because(reason ?? '')}.`
    })
    .join('')
}

/** `3 attempts were made, the last at 14:02:11 UTC.` */
function attemptsOf({ attempts, events }: Timeline, now: Date): string {
  const last = lastOf(events, 'attempt_started')
  if (!last || attempts === 0) return 'No attempt was made.'
  const made = attempts === 1 ? '1 attempt was made,' : `${attempts} attempts were made, the last`
  return `${made} at ${clock(last.at, now)}.`
}

function nextOf(
  words: ConditionTexts<Condition>,
  condition: Condition,
  details: Details,
): Explanation['next'] {
  if (!words.next) return undefined
  const next =
    typeof words.next === 'string' ? { at: null, text: words.next } : words.next(condition, details)
  const { expiresAt, now } = details
  if (!expiresAt || condition.kind === 'sending') return next
  return { ...next, text: `${next.text} It expires if it still waits at ${clock(expiresAt, now)}.` }
}

function adviceOn(
  words: ConditionTexts<Condition>,
  condition: Condition,
  details: Details,
): Advice | undefined {
  if (isErased(details.timeline)) return undefined
  if (details.channel.deletedAt) return adviceOnDeletedChannel(condition)
  return typeof words.advice === 'string' ? { text: words.advice } : words.advice?.(condition, details)
}

const needsNothing: ReadonlySet<Condition['kind']> = new Set([
  'sent',
  'sending',
  'canceled',
  'delivered',
  'read',
  'no_receipt',
])

/** A send of a deleted channel can't be replayed. */
function adviceOnDeletedChannel({ kind }: Condition): Advice | undefined {
  if (needsNothing.has(kind)) return undefined
  return {
    text:
      kind === 'uncertain' || kind === 'failed_in_doubt' || kind === 'canceled_in_doubt'
        ? 'Look for the message at the provider; its channel was deleted, so it cannot be replayed.'
        : 'Its channel was deleted: send a new message by another channel.',
  }
}

/** Names the message to the customer. */
function subjectFor(timeline: Timeline): string {
  const { requestId, messageType, contact, acceptedAt } = timeline
  const recipient = isErased(timeline) ? '' : ` to ${contact.value}`
  return `Your ${messageType} message ${requestId}${recipient}, accepted at ${moment(acceptedAt)},`
}

/** Added for a message that has not ended, if an earlier attempt may have got through. */
function doubtOf({ status, events }: Timeline): string {
  const isUnfinished = status === 'queued' || status === 'sending'
  return isUnfinished && mayHaveGotThrough(events) ? '; an earlier attempt may have delivered it already' : ''
}
