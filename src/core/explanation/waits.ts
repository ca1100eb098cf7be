import { isOfReceipt } from '../sends/timeline.ts'
import type { EventOf, TimelineEvent } from '../sends/timeline-events.ts'
import type { ExplanationEntry, SendFacts } from './model.ts'
import { duration } from './phrases.ts'

/** Shorter waits aren't explained. */
const leastWaitMs = 1000

/** The time between two consecutive entries, with its cause. */
export function waitBefore(
  before: TimelineEvent,
  event: TimelineEvent,
  facts: SendFacts,
): ExplanationEntry['wait'] {
  const ms = Date.parse(event.at) - Date.parse(before.at)
  return ms < leastWaitMs ? undefined : { ms, text: causeOf(ms, before, event, facts) }
}

function causeOf(ms: number, before: TimelineEvent, event: TimelineEvent, facts: SendFacts): string {
  if (event.event === 'attempt_finished') return callOf(ms, before, event)
  if (event.event === 'attempt_lost') {
    return `${duration(ms)} until the worker counted as dead and its claim was given up`
  }
  if (isOfReceipt(event)) return `${duration(ms)} until the provider's receipt came`
  if (event.event === 'erased') return `${duration(ms)} until its contact was erased`
  if (event.event === 'canceled') return `${duration(ms)} until it was canceled`
  if (event.event === 'settled') return `${duration(ms)} until it was settled`
  if (event.event === 'replayed') return `${duration(ms)} until it was replayed`
  switch (before.event) {
    case 'accepted':
      return waitAfterAccept(ms, before, facts)
    case 'scheduled':
      return untilDue(ms, before.at, before.sendAt, 'for the time that it was scheduled for')
    case 'replayed':
      return waitUntilDue(ms, before, 'because replays are spread out')
    case 'retry_scheduled':
      return waitUntilDue(ms, before, 'for its retry')
    case 'postponed':
      return waitUntilDue(
        ms,
        before,
        before.reason?.startsWith('quiet hours')
          ? 'for the end of quiet hours'
          : 'for the next period of its ceiling',
      )
    case 'channel_held':
      return `waited ${duration(ms)} while the channel was held, and in the queue after that`
    default:
      return `${duration(ms)} passed`
  }
}

function callOf(
  ms: number,
  before: TimelineEvent,
  { durationMs, late }: EventOf<'attempt_finished'>,
): string {
  if (late || before.event !== 'attempt_started') return `${duration(ms)} until the outcome came, late`
  if (ms - durationMs < leastWaitMs) return `the provider took ${duration(durationMs)}`
  return `waited ${duration(ms - durationMs)} for the channel's rate or for the database, and the provider took ${duration(durationMs)}`
}

function waitAfterAccept(ms: number, { at }: EventOf<'accepted'>, { waitedFor }: SendFacts): string {
  if (!waitedFor) return `waited ${duration(ms)} in the queue`
  if (!waitedFor.finishedAt) return `waited ${duration(ms)} behind an earlier message to this contact`
  const behindMs = Math.min(ms, Math.max(0, waitedFor.finishedAt.getTime() - Date.parse(at)))
  return wait(ms, behindMs, 'behind an earlier message to this contact')
}

function waitUntilDue(
  ms: number,
  before: EventOf<'postponed' | 'replayed' | 'retry_scheduled'>,
  forWhat: string,
): string {
  return untilDue(ms, before.at, before.nextAttemptAt, forWhat)
}

function untilDue(ms: number, beganAt: string, dueAt: string, forWhat: string): string {
  const due = Date.parse(dueAt)
  const untilDueMs = Number.isNaN(due) ? ms : Math.min(ms, Math.max(0, due - Date.parse(beganAt)))
  return wait(ms, untilDueMs, forWhat)
}

/** The rest of a wait, beyond `firstMs`, was in the queue. */
function wait(ms: number, firstMs: number, words: string): string {
  if (firstMs < leastWaitMs) return `waited ${duration(ms)} in the queue`
  if (ms - firstMs < leastWaitMs) return `waited ${duration(ms)} ${words}`
  return `waited ${duration(firstMs)} ${words}, then ${duration(ms - firstMs)} in the queue`
}
