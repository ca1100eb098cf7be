import { describeEvent } from './explanation/events.ts'
import type { Explanation, ExplanationEntry, SendFacts, Tone } from './explanation/model.ts'
import { summarize } from './explanation/summary.ts'
import { waitBefore } from './explanation/waits.ts'
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
export { maxCountedAhead } from './explanation/model.ts'

const tones: Record<SendStatus, Tone> = {
  queued: 'waiting',
  sending: 'waiting',
  sent: 'good',
  failed: 'bad',
  uncertain: 'unsure',
}

/**
 * Explains a send's state and timeline in sentences, which the CLI and the support page show.
 *
 * @param timeline with the contact masked.
 */
export function explain(timeline: Timeline, facts: SendFacts): Explanation {
  return {
    requestId: timeline.requestId,
    tone: tones[timeline.status],
    ...summarize(timeline, facts),
    entries: timeline.events.map((event, index) =>
      entryOf(event, timeline.events[index - 1], timeline, facts),
    ),
  }
}

function entryOf(
  event: TimelineEvent,
  before: TimelineEvent | undefined,
  timeline: Timeline,
  facts: SendFacts,
): ExplanationEntry {
  const wait = before && waitBefore(before, event, facts)
  return { at: event.at, event: event.event, ...(wait && { wait }), ...describeEvent(event, timeline, facts) }
}
