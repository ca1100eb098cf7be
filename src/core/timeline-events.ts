import { z } from 'zod'
import { choice, moment } from './fields.ts'
import type { AttemptResult, Fault } from './outcome.ts'

const attempt = z.int().min(1).describe('Which attempt, from 1.')
const reason = z
  .string()
  .nullable()
  .describe('For people; the wording may change. Null or absent once the contact is erased.')
const nextAttemptAt = moment.describe('In UTC.')

const outcome = choice<AttemptResult['outcome']>('What came of it', {
  sent: 'the provider accepted the message',
  rejected: 'it refuses the message for good',
  retry_later: "it can't take it now",
  channel_refused: 'it refuses the channel, whatever the message',
  not_called: 'it was not called after all',
  uncertain: 'the call may or may not have gone through',
})

const fault = choice<Fault>('Whose fault it is that a call failed', {
  provider: "the provider's: its API, its server, or the way to it",
  recipient: "the contact's: a full mailbox, say, or a limit of messages to one contact",
  message: "the message's, or its media's",
  sender: "the channel's: its credentials, the number or address that it sends from, its account and limits",
})

/**
 * Each event of a timeline: when it is recorded, and its fields besides `at` and `event` (docs/reference/timeline.md#timeline). OpenAPI is
 * made of this table; types hold the log, the explanation, the SQL that writes events and the events that a send's row stands
 * for; tests/rules/check/timeline-events.test.ts holds the docs and the styles of the support page.
 */
export const timelineEvents = {
  accepted: { when: 'The send is recorded.', fields: {} },
  conversation_closed: {
    when: 'The open conversation was closed.',
    fields: { conversationId: z.string().nullable().describe('Null where none was open.') },
  },
  attempt_started: {
    when: 'A worker has claimed the send and is about to call the provider.',
    fields: { attempt, worker: z.string().describe('The name of the worker.') },
  },
  attempt_finished: {
    when: 'The call is over, or was not made.',
    fields: {
      attempt,
      outcome,
      durationMs: z.int().min(0).describe('How long the call took.'),
      providerStatus: z.int().nullable().describe("The provider's status."),
      providerCode: z
        .string()
        .nullable()
        .describe("The provider's own code, of a failure or of what it does with a message that it took."),
      providerMessageId: z.string().nullable().describe("The provider's own id of the message."),
      fault: fault.optional(),
      reason: reason.describe('Why it was not sent.').optional(),
      late: z.literal(true).describe('The attempt had been given up before.').optional(),
    },
  },
  attempt_lost: {
    when: "The attempt's worker counts as dead; nobody knows whether the provider was called, unless `outcome` says so.",
    fields: {
      attempt,
      reason,
      outcome: z
        .literal('not_called')
        .describe(
          'The provider was surely not called: the attempt is not counted, and the send is tried again.',
        )
        .optional(),
    },
  },
  retry_scheduled: { when: 'There will be another attempt.', fields: { reason, nextAttemptAt } },
  channel_held: { when: 'The channel is held; the send waits for it to be resumed.', fields: { reason } },
  sent: { when: 'The end: the provider accepted the message.', fields: {} },
  failed: { when: 'The end, unless it is replayed.', fields: { reason: reason.optional() } },
  uncertain: {
    when: 'The end, unless the outcome comes late or it is replayed.',
    fields: { reason: reason.optional() },
  },
  replayed: { when: 'The operator has it tried again.', fields: { nextAttemptAt } },
  erased: { when: 'The operator had content and contact of the send removed.', fields: {} },
} satisfies Record<string, { when: string; fields: z.ZodRawShape }>

export type TimelineEventName = keyof typeof timelineEvents

/** What an event tells besides `at` and `event`. */
export type EventFields = {
  [Name in TimelineEventName]: z.output<z.ZodObject<(typeof timelineEvents)[Name]['fields']>>
}

export type EventField = { [Name in TimelineEventName]: keyof EventFields[Name] }[TimelineEventName]

/** An intersection with an object of no fields takes none at all. */
type OrNone<Fields> = Fields extends Record<string, never> ? unknown : Fields

export type EventOf<Name extends TimelineEventName> = { at: string; event: Name } & OrNone<EventFields[Name]>

/** With whatever a later release may have written beside it. */
export type TimelineEvent = {
  [Name in TimelineEventName]: EventOf<Name> & Record<string, unknown>
}[TimelineEventName]
