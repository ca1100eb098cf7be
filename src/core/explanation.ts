import { standingOf } from './explanation/condition.ts'
import { lineForCustomer } from './explanation/customer.ts'
import { tellEvent } from './explanation/events.ts'
import type { Story, StoryEntry, StoryFacts, Tone } from './explanation/model.ts'
import { adviceOn, headlineOf, nextOf } from './explanation/summary.ts'
import { gapBefore } from './explanation/waits.ts'
import type { SendStatus, Timeline, TimelineEvent } from './timeline.ts'

export { mayHaveGotThrough } from './explanation/condition.ts'
export type { Advice, Story, StoryAnswer, StoryEntry, StoryFacts, Tone } from './explanation/model.ts'
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
export function tellStory(timeline: Timeline, facts: StoryFacts): Story {
  const standing = standingOf(timeline, facts)
  const next = nextOf(standing, facts)
  const advice = adviceOn(standing, timeline, facts)
  return {
    requestId: timeline.requestId,
    tone: tones[timeline.status],
    headline: headlineOf(standing, timeline, facts),
    entries: timeline.events.map((event, index) =>
      entryOf(event, timeline.events[index - 1], timeline, facts),
    ),
    ...(next && { next }),
    ...(advice && { advice }),
    forCustomer: lineForCustomer(standing, timeline, facts),
  }
}

function entryOf(
  event: TimelineEvent,
  before: TimelineEvent | undefined,
  timeline: Timeline,
  facts: StoryFacts,
): StoryEntry {
  const gap = before && gapBefore(before, event, facts)
  return { at: event.at, event: event.event, ...(gap && { gap }), ...tellEvent(event, timeline, facts) }
}
