import type { SendStatus, Timeline, TimelineEvent } from '../sends/timeline.ts'
import { describeEvent } from './event-sentences.ts'
import type { Explanation, ExplanationEntry, SendFacts, Tone } from './model.ts'
import { summarize } from './summary.ts'
import { waitBefore } from './waits.ts'

export { mayBeReplayed, wasCanceled } from './condition.ts'
export type {
  Advice,
  Explanation,
  ExplanationAnswer,
  ExplanationEntry,
  SendFacts,
  Tone,
} from './model.ts'
export { maxCountedAhead, maxCountedMoreUrgent } from './model.ts'

const tones: Record<SendStatus, Tone> = {
  queued: 'waiting',
  sending: 'waiting',
  sent: 'good',
  failed: 'bad',
  uncertain: 'unsure',
  canceled: 'over',
}

/**
 * Explains a send's state and timeline in sentences, which the CLI and the support page show.
 *
 * @param timeline with the contact masked.
 */
export function explain(timeline: Timeline, facts: SendFacts): Explanation {
  return {
    requestId: timeline.requestId,
    tone: timeline.delivery === 'undelivered' ? 'bad' : tones[timeline.status],
    ...orElse(() => summarize(timeline, facts), unexplained(timeline)),
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
  const wait = before && orElse(() => waitBefore(before, event, facts), undefined)
  const described = orElse(() => describeEvent(event, timeline, facts), {
    text: `${event.event}: what it says can't be shown. ${whyUnread}`,
  })
  return { at: event.at, event: event.event, ...(wait && { wait }), ...described }
}

const whyUnread = 'It is damaged, or a newer release wrote it.'

const unexplained = ({ requestId, status }: Timeline) => ({
  summary: `The message is ${status}. Its timeline has an event that can't be explained. ${whyUnread}`,
  forCustomer: `Your message ${requestId} is ${status}.`,
})

/** Explains one record, or uses `instead`: a record that can't be explained must not hide the others. */
function orElse<Result>(explained: () => Result, instead: Result): Result {
  try {
    return explained()
  } catch {
    return instead
  }
}
