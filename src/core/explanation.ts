import { conditionOf } from './explanation/condition.ts'
import { lineForCustomer } from './explanation/customer.ts'
import { tellEvent } from './explanation/events.ts'
import type { Explanation, ExplanationEntry, SendFacts, Tone } from './explanation/model.ts'
import { adviceOn, nextOf, summaryOf } from './explanation/summary.ts'
import { gapBefore } from './explanation/waits.ts'
import type { SendStatus, Timeline, TimelineEvent } from './timeline.ts'

export { mayHaveGotThrough } from './explanation/condition.ts'
export type {
  Advice,
  Explanation,
  ExplanationAnswer,
  ExplanationEntry,
  SendFacts,
  Tone,
} from './explanation/model.ts'
export { mostCountedAhead } from './explanation/model.ts'

const tones: Record<SendStatus, Tone> = {
  queued: 'waiting',
  sending: 'waiting',
  sent: 'good',
  failed: 'bad',
  uncertain: 'unsure',
}

/**
 * What became of a send, for people: the same words on the command line and on the support page.
 *
 * @param timeline with the contact masked.
 */
export function explain(timeline: Timeline, facts: SendFacts): Explanation {
  const condition = conditionOf(timeline, facts)
  const next = nextOf(condition, facts)
  const advice = adviceOn(condition, timeline, facts)
  return {
    requestId: timeline.requestId,
    tone: tones[timeline.status],
    summary: summaryOf(condition, timeline, facts),
    entries: timeline.events.map((event, index) =>
      entryOf(event, timeline.events[index - 1], timeline, facts),
    ),
    ...(next && { next }),
    ...(advice && { advice }),
    forCustomer: lineForCustomer(condition, timeline, facts),
  }
}

function entryOf(
  event: TimelineEvent,
  before: TimelineEvent | undefined,
  timeline: Timeline,
  facts: SendFacts,
): ExplanationEntry {
  const gap = before && gapBefore(before, event, facts)
  return { at: event.at, event: event.event, ...(gap && { gap }), ...tellEvent(event, timeline, facts) }
}
