import { z } from 'zod'
import { type Contact, contactKinds, contactTypes, maskContact } from '../contacts/contact.ts'
import { messageTypes } from '../messages/message.ts'
import { encodings, type SmsSize } from '../messages/segments.ts'
import type { DeliveryState } from '../receipts/receipt.ts'
import { choice, moment } from '../requests/fields.ts'
import { type Priority, priorities } from './priority.ts'
import type { Metadata } from './send-request.ts'
import type { EventFields, TimelineEvent, TimelineEventName } from './timeline-events.ts'

export type { TimelineEvent }

export const sendStatuses = ['queued', 'sending', 'sent', 'failed', 'uncertain', 'canceled'] as const
export type SendStatus = (typeof sendStatuses)[number]

/** The stored outcome of an attempt: no content, no credential. */
export type AttemptRecord = EventFields['attempt_finished']

const normalisedContacts = contactTypes.map((type) => contactKinds[type].normalised)

/**
 * The fields of a timeline (docs/reference/timeline.md#timeline), in the order of the answer. OpenAPI is generated from them, except
 * for the schemas of the contact and of the events.
 */
export const timelineFields = {
  requestId: z.string().meta({ format: 'uuid', description: 'The id of the send.' }),
  status: choice<SendStatus>('The state of the send', {
    queued:
      'waits for the time that it is scheduled for, for its first attempt, for an earlier send to its contact, for a retry, or for its channel',
    sending: 'a worker has claimed it and is calling the provider',
    sent: 'the provider accepted the message, which does not mean that it was delivered or read; see `delivery`',
    failed:
      'the provider refused it, the last retry failed, its provider stayed away, it has expired, its channel was deleted, its media is no longer kept, or workers kept crashing on it',
    uncertain: 'the provider may or may not have the message',
    canceled: 'it was canceled before the provider could have the message',
  }),
  channelId: z.string().describe('The channel of the request.'),
  contact: z.object({
    type: z.enum(contactTypes).describe('The kind of `value`.'),
    value: z.string().describe(`The normalised value: ${normalisedContacts.join(', or ')}.`),
    name: z.string().describe('The name, if the send has one.').optional(),
  }),
  messageType: z.enum(messageTypes).describe('The type of the message.'),
  flowId: z.string().nullable().describe('Null if the send has none.'),
  conversationId: z.string().nullable().describe('Null until the first attempt.'),
  acceptedAt: moment.describe('When the send was recorded, in UTC.'),
  finishedAt: moment.nullable().describe('Null until the send has ended.'),
  attempts: z.int().min(0).describe('The number of attempts so far.'),
  providerMessageId: z.string().nullable().describe("The provider's own id of the message."),
  delivery: choice<DeliveryState>('What the provider reported after it accepted the message', {
    delivered: 'the contact got it',
    read: 'the contact read it',
    undelivered: 'it could not be delivered',
  })
    .nullable()
    .describe('Null until the provider reports. Many channels get no reports.'),
  deliveryAt: moment.nullable().describe('When that report was recorded, in UTC.'),
  sendAt: moment
    .nullable()
    .describe('The time for which it was scheduled, in UTC. Null if the request gave none.'),
  nextAttemptAt: moment
    .nullable()
    .describe(
      'When it is due, in UTC, while it waits for a time: `sendAt`, a retry, or the end of quiet hours. Null else.',
    ),
  priority: z.enum(priorities).describe('What goes first among the messages of its channel.'),
  reference: z
    .string()
    .nullable()
    .describe('Your own id of the send. Null if the request gave none, or after the contact was erased.'),
  expiresInSeconds: z
    .int()
    .nullable()
    .describe(
      'How long it may wait, counted from its accept or from `sendAt`. Null if the request gave no limit.',
    ),
  metadata: z
    .record(z.string(), z.string())
    .nullable()
    .describe('Your own notes. Null if the request gave none, or after the contact was erased.'),
  segments: z
    .int()
    .nullable()
    .describe(
      'How many segments the text takes as SMS, as vendors bill it. Null if it does not go as SMS, or only the provider knows the text.',
    ),
  encoding: z
    .enum(encodings)
    .nullable()
    .describe(
      'The encoding of the SMS: `ucs-2`, with less than half of the characters in a segment, if a character is not in the alphabet of GSM. Null as `segments` is.',
    ),
  reason: z
    .string()
    .nullable()
    .describe(
      'Why it ended `failed` or `uncertain`, or why it was `undelivered`, as its event says. For people. Null if there is none, or after the contact was erased.',
    ),
  providerCode: z
    .string()
    .nullable()
    .describe(
      "The provider's own code of how it ended, or of why it was `undelivered`. Null if the provider gave none.",
    ),
  sentThrough: z
    .string()
    .nullable()
    .describe('The channel that has it now, if it fell back from `channelId`. Null if it never did.'),
  events: z.array(z.custom<TimelineEvent>()).describe('The events so far, oldest first.'),
}

export interface Timeline extends z.output<z.ZodObject<typeof timelineFields>> {}

/** The columns of a send's row that a timeline needs. */
export interface SendRecord {
  requestId: string
  status: SendStatus
  channelId: string
  contactType: Contact['type']
  contactValue: string
  contactName: string | null
  messageType: Timeline['messageType']
  flowId: string | null
  conversationId: string | null
  acceptedAt: Date
  finishedAt: Date | null
  attempt: number
  worker: string | null
  claimedAt: Date | null
  attemptRecord: AttemptRecord | null
  providerMessageId: string | null
  failure: string | null
  delivery: DeliveryState | null
  deliveryAt: Date | null
  /** The fields of the event that reported it as undelivered; null unless that is its delivery state. */
  undelivered: (Pick<Timeline, 'providerCode'> & Partial<Pick<Timeline, 'reason'>>) | null
  sendAt: Date | null
  /** Null if it is due, or has been claimed. */
  nextAttemptAt: Date | null
  priority: Priority
  reference: string | null
  expiresInSeconds: number | null
  metadata: Metadata | null
  segments: number | null
  encoding: SmsSize['encoding'] | null
  /** The channel that has it now; null if it never fell back. */
  sentThrough: string | null
}

/** A stored event. It may have been written by a later release, with a name that is unknown here. */
export interface StoredEvent {
  at: Date
  event: string
  fields: Record<string, unknown>
}

/**
 * Builds the timeline of a send (docs/reference/timeline.md#timeline). Its accept and its latest attempt are derived from its row,
 * the other events are stored.
 *
 * @param contact whole for the account that owns the send, masked for everyone else.
 */
export function buildTimeline(
  send: SendRecord,
  stored: readonly StoredEvent[],
  contact: 'whole' | 'masked',
): Timeline {
  // The sort is stable: of the same moment, receipts come after what they are about, and a fallback after what caused it.
  const [receipts, notReceipts] = divide(stored, isOfReceipt)
  const [fallbacks, others] = divide(
    notReceipts,
    ({ event }) => event === ('fell_back' satisfies TimelineEventName),
  )
  const events = [
    ...accept(send, others),
    ...others,
    ...latestAttempt(send, stored),
    ...receipts,
    ...fallbacks,
  ].sort((a, b) => a.at.getTime() - b.at.getTime())
  return {
    ...summaryOf(send, contact),
    events: events.map(
      ({ at, event, fields }) => ({ at: at.toISOString(), event, ...fields }) as TimelineEvent,
    ),
  }
}

/** The timeline of a send without its events. */
export function summaryOf(send: SendRecord, contact: 'whole' | 'masked'): Omit<Timeline, 'events'> {
  return {
    requestId: send.requestId,
    status: send.status,
    channelId: send.channelId,
    contact: showContact(send, contact),
    messageType: send.messageType,
    flowId: send.flowId,
    conversationId: send.conversationId,
    acceptedAt: send.acceptedAt.toISOString(),
    finishedAt: send.finishedAt?.toISOString() ?? null,
    attempts: send.attempt,
    providerMessageId: send.providerMessageId,
    delivery: send.delivery,
    deliveryAt: send.deliveryAt?.toISOString() ?? null,
    sendAt: send.sendAt?.toISOString() ?? null,
    nextAttemptAt: send.nextAttemptAt?.toISOString() ?? null,
    priority: send.priority,
    reference: send.reference,
    expiresInSeconds: send.expiresInSeconds,
    metadata: send.metadata,
    segments: send.segments,
    encoding: send.encoding,
    ...causeOf(send),
    sentThrough: send.sentThrough,
  }
}

/** Why the send was not delivered, or ended otherwise than sent. */
function causeOf({
  undelivered,
  failure,
  attemptRecord,
}: SendRecord): Pick<Timeline, 'reason' | 'providerCode'> {
  if (undelivered) return { reason: undelivered.reason ?? null, providerCode: undelivered.providerCode }
  return { reason: failure, providerCode: attemptRecord?.providerCode ?? null }
}

/** The events that receipts make. */
const receiptEvents: ReadonlySet<string> = new Set<TimelineEventName>([
  'delivered',
  'read',
  'undelivered',
  'complained',
  'receipt',
])

function divide<Item>(items: readonly Item[], isFirst: (item: Item) => boolean): [Item[], Item[]] {
  return [items.filter(isFirst), items.filter((item) => !isFirst(item))]
}

/** Whether an event was made by a receipt. */
export const isOfReceipt = ({ event }: { event: string }): boolean => receiptEvents.has(event)

function accept({ acceptedAt, sendAt }: SendRecord, stored: readonly StoredEvent[]): StoredEvent[] {
  const accepted = eventOfRow(acceptedAt, 'accepted', {})
  // If it was moved to another time, the time of its accept is stored (db/sends/reschedule.ts).
  const isStored = stored.some(({ event }) => event === ('scheduled' satisfies TimelineEventName))
  if (isStored || !sendAt || sendAt <= acceptedAt) return [accepted]
  return [accepted, eventOfRow(acceptedAt, 'scheduled', { sendAt: sendAt.toISOString() })]
}

function latestAttempt(send: SendRecord, stored: readonly StoredEvent[]): StoredEvent[] {
  const { attempt, worker, claimedAt, finishedAt, attemptRecord, status, failure: reason } = send
  const events: StoredEvent[] = []
  // The events of a lost attempt that is retried are stored.
  if (status === 'queued') return events
  // The events of an attempt that was lost before its send was canceled are stored too.
  const isStored = attemptRecord === null && stored.some((event) => isStartOf(send, event))
  if (claimedAt && !isStored)
    events.push(eventOfRow(claimedAt, 'attempt_started', { attempt, worker: worker ?? '' }))
  if (!finishedAt || status === 'sending') return events
  if (attemptRecord) events.push(eventOfRow(finishedAt, 'attempt_finished', attemptRecord))
  else if (claimedAt && !isStored) events.push(eventOfRow(finishedAt, 'attempt_lost', { attempt, reason }))
  events.push(eventOfRow(finishedAt, status, reason === null ? {} : { reason }))
  return events
}

const isStartOf = ({ attempt, claimedAt }: SendRecord, { at, event, fields }: StoredEvent) =>
  event === 'attempt_started' && fields.attempt === attempt && at.getTime() === claimedAt?.getTime()

function eventOfRow<Name extends TimelineEventName>(
  at: Date,
  event: Name,
  fields: EventFields[Name],
): StoredEvent {
  return { at, event, fields }
}

function showContact(send: SendRecord, how: 'whole' | 'masked'): Contact {
  const { contactType: type, contactValue: value, contactName } = send
  if (how === 'masked') return { type, value: maskContact({ type, value }) }
  return contactName === null ? { type, value } : { type, value, name: contactName }
}
