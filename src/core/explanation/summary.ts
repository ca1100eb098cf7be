import type { Timeline } from '../timeline.ts'
import { type Condition, conditionOf, isErased, lastOf, mayHaveGotThrough } from './condition.ts'
import { type ConditionWords, conditionWords, type Given } from './condition-words.ts'
import type { Advice, Explanation, SendFacts } from './model.ts'
import { clock, count, moment } from './words.ts'

type Summary = Pick<Explanation, 'summary' | 'next' | 'advice' | 'forCustomer'>

/** What is said of a send as it stands: the words of its condition, and what goes with any. */
export function summarize(timeline: Timeline, facts: SendFacts): Summary {
  const condition = conditionOf(timeline, facts)
  const words = conditionWords[condition.kind] as ConditionWords<Condition>
  const given = {
    ...facts,
    timeline,
    attempts: attemptsOf(timeline, facts.now),
    moment: moment(timeline.finishedAt ?? facts.now),
  }
  const summary = words.summary(condition, given)
  const next = nextOf(words, condition, given)
  const advice = adviceOn(words, condition, given)
  return {
    summary: isErased(timeline) ? `${summary} Its contact and content were erased since.` : summary,
    ...(next && { next }),
    ...(advice && { advice }),
    forCustomer: `${whichFor(timeline)} ${words.customer(condition, given)}${doubtOf(timeline)}.`,
  }
}

/** `3 attempts, the last at 14:02:11 UTC`. */
function attemptsOf({ attempts, events }: Timeline, now: Date): string {
  const last = lastOf(events, 'attempt_started')
  if (!last || attempts === 0) return 'no attempt was made'
  return `${count(attempts, 'attempt')}, ${attempts === 1 ? '' : 'the last '}at ${clock(last.at, now)}`
}

function nextOf(words: ConditionWords<Condition>, condition: Condition, given: Given): Explanation['next'] {
  if (!words.next) return undefined
  const next = typeof words.next === 'string' ? { at: null, text: words.next } : words.next(condition, given)
  const { expiresAt, now } = given
  if (!expiresAt || condition.kind === 'sending') return next
  return { ...next, text: `${next.text} It expires if it still waits at ${clock(expiresAt, now)}.` }
}

function adviceOn(words: ConditionWords<Condition>, condition: Condition, given: Given): Advice | undefined {
  if (isErased(given.timeline)) return undefined
  if (given.channel.deletedAt) return adviceOnDeletedChannel(condition)
  return typeof words.advice === 'string' ? { text: words.advice } : words.advice?.(condition, given)
}

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

/** Which message, to the customer who asked. */
function whichFor(timeline: Timeline): string {
  const { requestId, messageType, contact, acceptedAt } = timeline
  const whom = isErased(timeline) ? '' : ` to ${contact.value}`
  return `Your ${messageType} message ${requestId}${whom}, accepted at ${moment(acceptedAt)},`
}

/** Beside what is told of a message that is on its way. */
function doubtOf({ status, events }: Timeline): string {
  const isOnItsWay = status === 'queued' || status === 'sending'
  return isOnItsWay && mayHaveGotThrough(events) ? '; an earlier attempt may have delivered it already' : ''
}
