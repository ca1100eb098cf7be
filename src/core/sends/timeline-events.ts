import { z } from 'zod'
import { choice, moment } from '../requests/fields.ts'
import { costFields } from './cost.ts'
import type { AttemptOutcome, Fault } from './outcome.ts'

const attempt = z.int().min(1).describe('The number of the attempt, from 1.')
const reason = z
  .string()
  .nullable()
  .describe(
    'For people: rely only on `given up` at its beginning and `(the last attempt)` at its end. Null or absent after the contact was erased.',
  )
const cost = costFields.describe('The cost of the message, if the provider says something of it.').optional()
/** The fields of each event that a receipt makes. */
const receiptFields = {
  providerStatus: z.string().describe("The provider's own word."),
  providerAt: z
    .string()
    .nullable()
    .describe("The time by the provider's clock, as far as it gave one: for people, never for order."),
  providerCode: z.string().nullable().describe("The provider's own code of the failure."),
  providerMessageId: z.string().nullable().describe("The provider's own id of the message."),
  cost,
  reason: reason.describe('Why it was not delivered.').optional(),
}
const nextAttemptAt = moment.describe('The time of the next attempt, in UTC.')

const outcome = choice<AttemptOutcome['outcome']>('The outcome of the attempt', {
  sent: 'the provider accepted the message',
  rejected: 'the provider refused the message for good',
  retry_later: "the provider can't take the message now",
  channel_refused: 'the provider refused the channel, whatever the message',
  not_called: 'the provider was not called',
  uncertain: 'the call may or may not have gone through',
})

const fault = choice<Fault>('Whose fault a failed call is', {
  provider: "the provider's: its API, its server, or the connection to it",
  recipient: "the contact's: for example a full mailbox, or a limit of messages to one contact",
  message: "the message's, or its media's",
  sender: "the channel's: its credentials, the number or address that it sends from, its account and limits",
})

/**
 * Each event of a timeline: when it is recorded, and its fields except `at` and `event` (docs/reference/timeline.md#timeline). OpenAPI is
 * generated from this table. Log, explanation, the SQL that writes events and the events derived from a send's row are checked
 * against it by types, the docs and the styles of the support page by tests/rules/check/timeline-events.test.ts.
 */
export const timelineEvents = {
  accepted: { when: 'The send is recorded.', fields: {} },
  tried: { when: 'An operator tried the channel with it: no client posted it.', fields: {} },
  scheduled: {
    when: 'It was accepted to be sent later, or was moved to another time or contact.',
    fields: {
      sendAt: moment.describe('Not before this time, in UTC.'),
      contactChanged: z.literal(true).describe('It was given to another contact.').optional(),
    },
  },
  conversation_closed: {
    when: 'The open conversation was closed.',
    fields: { conversationId: z.string().nullable().describe('Null if none was open.') },
  },
  attempt_started: {
    when: 'A worker has claimed the send and is about to call the provider.',
    fields: { attempt, worker: z.string().describe('The random name of the worker.') },
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
        .describe("The provider's own code, of a failure or of an accepted message that it holds back."),
      providerMessageId: z.string().nullable().describe("The provider's own id of the message."),
      cost,
      fault: fault.optional(),
      reason: reason.describe('Why it was not sent.').optional(),
      late: z.literal(true).describe('The attempt had been given up before.').optional(),
    },
  },
  attempt_lost: {
    when: "The attempt's worker counts as dead. Unless `outcome` says so, it is unknown whether the provider was called.",
    fields: {
      attempt,
      reason,
      outcome: z
        .literal('not_called')
        .describe(
          'The provider was certainly not called. The attempt is not counted, and the send is tried again.',
        )
        .optional(),
    },
  },
  retry_scheduled: { when: 'There will be another attempt.', fields: { reason, nextAttemptAt } },
  postponed: {
    when: 'It waits for the end of the quiet hours of its channel, or for the next period of a ceiling.',
    fields: { reason, nextAttemptAt },
  },
  channel_held: { when: 'The channel is held; the send waits for it to be resumed.', fields: { reason } },
  sent: { when: 'The end, unless it falls back: the provider accepted the message.', fields: {} },
  failed: { when: 'The end, unless it is replayed.', fields: { reason: reason.optional() } },
  uncertain: {
    when: 'The end, unless the outcome comes late, or it is settled or replayed.',
    fields: { reason: reason.optional() },
  },
  settled: {
    when: 'A person looked for an uncertain send at the provider, and settled it.',
    fields: {
      as: z.enum(['sent', 'failed']).describe('`sent`: the provider has the message; `failed`: it does not.'),
      reason: reason.describe('How that is known.'),
    },
  },
  canceled: { when: 'The end: it was canceled before the provider could have it.', fields: {} },
  replayed: { when: 'An operator replayed the send.', fields: { nextAttemptAt } },
  delivered: { when: 'The provider reports that the contact got the message.', fields: receiptFields },
  read: { when: 'The provider reports that the contact read the message.', fields: receiptFields },
  undelivered: {
    when: 'The provider reports that it could not deliver the message. A send that was `uncertain` or due for a retry is `sent` by it; with a fallback, the send may go on.',
    fields: receiptFields,
  },
  receipt: {
    when: 'Another receipt of the provider came, which did not change `delivery`.',
    fields: receiptFields,
  },
  complained: {
    when: 'The provider reports that the contact complained about the message. Status and delivery stay.',
    fields: receiptFields,
  },
  unsubscribed: {
    when: 'The contact unsubscribed by the address in the message. Status and delivery stay.',
    fields: {},
  },
  fell_back: {
    when: 'It goes on by the fallback of its channel, instead of its end there.',
    fields: {
      fromChannelId: z.string().describe('The channel that had it until then.'),
      toChannelId: z.string().describe('The channel that has it now.'),
      reason,
    },
  },
  erased: { when: 'An operator erased content and contact of the send.', fields: {} },
} satisfies Record<string, { when: string; fields: z.ZodRawShape }>

export type TimelineEventName = keyof typeof timelineEvents

/** The fields of each event except `at` and `event`. */
export type EventFields = {
  [Name in TimelineEventName]: z.output<z.ZodObject<(typeof timelineEvents)[Name]['fields']>>
}

export type EventField = { [Name in TimelineEventName]: keyof EventFields[Name] }[TimelineEventName]

/** An intersection with an object of no fields takes none at all. */
type OrNone<Fields> = Fields extends Record<string, never> ? unknown : Fields

export type EventOf<Name extends TimelineEventName> = { at: string; event: Name } & OrNone<EventFields[Name]>

/** May have further fields, written by a later release. */
export type TimelineEvent = {
  [Name in TimelineEventName]: EventOf<Name> & Record<string, unknown>
}[TimelineEventName]
