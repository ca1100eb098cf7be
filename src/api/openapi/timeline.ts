import { contactTypes } from '../../core/contact.ts'
import { messageTypes } from '../../core/message.ts'
import type { Fault } from '../../core/outcome.ts'
import type { AttemptRecord, SendStatus, Timeline } from '../../core/timeline.ts'
import type { TimelineEventName } from '../../core/timeline-events.ts'
import { type JsonSchema, mapValues, ref } from './json-schema.ts'

const statuses = {
  queued: 'waits for its first attempt, for an earlier send to its contact, for a retry, or for its channel',
  sending: 'a worker has claimed it and is calling the provider',
  sent: 'the provider accepted the message; not that it was delivered, nor read',
  failed: 'the provider refused it, the last retry failed, or it has expired',
  uncertain: 'the provider may or may not have the message',
} satisfies Record<SendStatus, string>

const outcomes = {
  sent: 'the provider accepted the message',
  rejected: 'it refuses the message for good',
  retry_later: "it can't take it now",
  channel_refused: 'it refuses the channel, whatever the message',
  not_called: 'it was not called after all',
  uncertain: 'the call may or may not have gone through',
} satisfies Record<AttemptRecord['outcome'], string>

const faults = {
  provider: "the provider's: its API, its server, or the way to it",
  recipient: "the contact's: a full mailbox, say, or a limit of messages to one contact",
  message: "the message's, or its media's",
  sender: "the channel's: its credentials, the number or address that it sends from, its account and limits",
} satisfies Record<Fault, string>

const text = { type: 'string' }
const textOrNull = { type: ['string', 'null'] }
const moment = { type: 'string', format: 'date-time', description: 'In UTC.' }
const attempt = { type: 'integer', minimum: 1, description: 'Which attempt, from 1.' }
const reason = {
  ...textOrNull,
  description: 'For people; the wording may change. Null or absent once the contact is erased.',
}

interface EventForm {
  when: string
  fields?: Record<string, JsonSchema>
  optional?: Record<string, JsonSchema>
}

/** The events of a timeline, each with what it holds besides `at` and `event` (docs/reference/timeline.md#timeline). */
const events: Record<TimelineEventName, EventForm> = {
  accepted: { when: 'The send is recorded.' },
  conversation_closed: {
    when: 'The open conversation was closed.',
    fields: { conversationId: { ...textOrNull, description: 'Null where none was open.' } },
  },
  attempt_started: {
    when: 'A worker has claimed the send and is about to call the provider.',
    fields: { attempt, worker: { ...text, description: 'The name of the worker.' } },
  },
  attempt_finished: {
    when: 'The call is over, or was not made.',
    fields: {
      attempt,
      outcome: choice('What came of it', outcomes),
      durationMs: { type: 'integer', minimum: 0, description: 'How long the call took.' },
      providerStatus: { type: ['integer', 'null'], description: "The provider's status." },
      providerCode: {
        ...textOrNull,
        description: "The provider's own code, of a failure or of what it does with a message that it took.",
      },
      providerMessageId: { ...textOrNull, description: "The provider's own id of the message." },
    },
    optional: {
      fault: choice('Whose fault it is that a call failed', faults),
      reason: { ...reason, description: 'Why it was not sent.' },
      late: { type: 'boolean', enum: [true], description: 'The attempt had been given up before.' },
    },
  },
  attempt_lost: {
    when: "The attempt's worker counts as dead. Nobody knows whether the provider was called, unless `outcome` says so.",
    fields: { attempt, reason },
    optional: {
      outcome: {
        type: 'string',
        enum: ['not_called'],
        description:
          'The provider was surely not called: the attempt is not counted, and the send is tried again.',
      },
    },
  },
  retry_scheduled: { when: 'There will be another attempt.', fields: { reason, nextAttemptAt: moment } },
  channel_held: { when: 'The channel is held; the send waits for it to be resumed.', fields: { reason } },
  sent: { when: 'The end: the provider accepted the message.' },
  failed: { when: 'The end, unless it is replayed.', optional: { reason } },
  uncertain: { when: 'The end, unless the outcome comes late or it is replayed.', optional: { reason } },
  replayed: { when: 'The operator has it tried again.', fields: { nextAttemptAt: moment } },
  erased: { when: 'The operator had content and contact of the send removed.' },
}

/** The schemas of what `GET /v1/messages/:requestId` answers, by their names. Open: fields may be added. */
export function timelineSchemas(): Record<string, JsonSchema> {
  const variants = mapValues(events, (_form, event) => ref(schemaName(event)))
  return {
    Timeline: object({
      requestId: { ...text, format: 'uuid', description: 'The id of the send.' },
      status: choice('Where the send stands', statuses),
      channelId: { ...text, description: 'The channel that sends it.' },
      contact: ref('KnownContact'),
      messageType: { ...text, enum: messageTypes, description: 'The type of the message.' },
      flowId: { ...textOrNull, description: 'Null where the send has none.' },
      conversationId: { ...textOrNull, description: 'Null until the first attempt.' },
      acceptedAt: { ...moment, description: 'When the send was recorded, in UTC.' },
      finishedAt: { ...moment, type: ['string', 'null'], description: 'Null until the send is over.' },
      attempts: { type: 'integer', minimum: 0, description: 'Attempts begun so far.' },
      providerMessageId: { ...textOrNull, description: "The provider's own id of the message." },
      events: {
        type: 'array',
        items: ref('TimelineEvent'),
        description: 'The story so far, the oldest first.',
      },
    } satisfies Record<keyof Timeline, JsonSchema>),
    KnownContact: object(
      {
        type: { ...text, enum: contactTypes, description: 'What `value` is.' },
        value: {
          ...text,
          description: 'As normalised: `+digits`, or an address with its domain in lower case.',
        },
      },
      { name: { ...text, description: 'The name, where the send gave one.' } },
    ),
    TimelineEvent: {
      description: 'One of these; others may be added. Ignore what you do not know.',
      oneOf: Object.values(variants),
      discriminator: { propertyName: 'event', mapping: mapValues(variants, ({ $ref }) => $ref) },
    },
    ...Object.fromEntries(
      Object.entries(events).map(([event, form]) => [schemaName(event), eventSchema(event, form)]),
    ),
  }
}

/** `attempt_started` → `AttemptStartedEvent`. */
function schemaName(event: string): string {
  return `${event.replace(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase())}Event`
}

function eventSchema(event: string, { when, fields = {}, optional }: EventForm): JsonSchema {
  const name = { type: 'string', enum: [event], description: 'What happened.' }
  return {
    ...object({ at: { ...moment, description: 'When, in UTC.' }, event: name, ...fields }, optional),
    description: when,
  }
}

function object(fields: Record<string, JsonSchema>, optional: Record<string, JsonSchema> = {}): JsonSchema {
  return { type: 'object', properties: { ...fields, ...optional }, required: Object.keys(fields) }
}

function choice(what: string, meanings: Record<string, string>): JsonSchema {
  const list = Object.entries(meanings).map(([value, meaning]) => `- \`${value}\`: ${meaning}`)
  return { type: 'string', enum: Object.keys(meanings), description: `${what}.\n\n${list.join('\n')}` }
}
