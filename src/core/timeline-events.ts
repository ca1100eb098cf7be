/**
 * The events of a timeline. Their type holds OpenAPI, the story and the log to them; tests/check/timeline-events.test.ts
 * holds the docs, the SQL that writes them and the styles of the support page.
 */
export const timelineEvents = [
  'accepted',
  'conversation_closed',
  'attempt_started',
  'attempt_finished',
  'attempt_lost',
  'retry_scheduled',
  'channel_held',
  'sent',
  'failed',
  'uncertain',
  'replayed',
  'erased',
] as const

export type TimelineEventName = (typeof timelineEvents)[number]
