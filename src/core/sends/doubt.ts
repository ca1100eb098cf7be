import type { AttemptOutcome } from './outcome.ts'
import { ownReasonOf } from './own-reasons.ts'
import type { TimelineEvent } from './timeline-events.ts'

/*
 * The rule whether a message may have got through (docs/reference/timeline.md#what-may-have-got-through). Explanation, fallback and the
 * pages read it here, statements in db/sends/doubt-rule.ts. One table of cases holds both to the same answer
 * (tests/api/doubt.test.ts).
 */

/** The outcomes after which the provider has the message, or may have it. Any other outcome is a refusal. */
export const outcomesInDoubt: readonly unknown[] = ['sent', 'uncertain'] satisfies AttemptOutcome['outcome'][]

/**
 * The attempts, on the channel that has the send now, from which the provider may have the message. A refusal clears its attempt,
 * however late it comes. A person who finds that the provider doesn't have the message clears all attempts.
 */
export function attemptsInDoubt(events: readonly TimelineEvent[]): ReadonlySet<unknown> {
  const inDoubt = new Set<unknown>()
  for (const { event, attempt, outcome, as } of events) {
    if (event === 'fell_back' || (event === 'settled' && as === 'failed')) inDoubt.clear()
    if (event === 'attempt_lost' && outcome !== 'not_called') inDoubt.add(attempt)
    if (event !== 'attempt_finished') continue
    if (outcomesInDoubt.includes(outcome)) inDoubt.add(attempt)
    else inDoubt.delete(attempt)
  }
  return inDoubt
}

/** Whether the provider may have the message of a send that isn't sent. */
export const mayHaveGotThrough = (events: readonly TimelineEvent[]): boolean =>
  attemptsInDoubt(events).size > 0

/** Whether a stored reason says that the send was canceled after an attempt that may have got through. */
export const isCanceledInDoubt = (reason: string | null): boolean =>
  ownReasonOf(reason ?? '') === 'canceledInDoubt'
