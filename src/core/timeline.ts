import { type Contact, maskContact } from './contact.ts'
import type { MessageType } from './message.ts'
import type { AttemptResult, Fault } from './outcome.ts'

export const sendStatuses = ['queued', 'sending', 'sent', 'failed', 'uncertain'] as const
export type SendStatus = (typeof sendStatuses)[number]

/** What came of an attempt, as it is kept: no content, no credential. */
export interface AttemptRecord {
  attempt: number
  outcome: AttemptResult['outcome']
  durationMs: number
  providerStatus: number | null
  providerCode: string | null
  providerMessageId: string | null
  /** Where it was not sent by a call. */
  fault?: Fault
  reason?: string
  /** Its claim had been given up before it came. */
  late?: true
}

/** What a timeline needs of a send's row. */
export interface SendRecord {
  requestId: string
  status: SendStatus
  channelId: string
  contactType: Contact['type']
  contactValue: string
  contactName: string | null
  messageType: MessageType
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
}

export interface StoredEvent {
  at: Date
  event: string
  fields: Record<string, unknown>
}

export interface TimelineEvent {
  at: string
  event: string
  [field: string]: unknown
}

export interface Timeline {
  requestId: string
  status: SendStatus
  channelId: string
  contact: Contact
  messageType: MessageType
  flowId: string | null
  conversationId: string | null
  acceptedAt: string
  finishedAt: string | null
  attempts: number
  providerMessageId: string | null
  events: TimelineEvent[]
}

/**
 * The story of a send (docs/reference/timeline.md#timeline), from its row and its stored events. The row tells the accept and the
 * latest attempt; the stored events tell the rest.
 *
 * @param contact whole for the account that owns the send, masked for everyone else.
 */
export function buildTimeline(
  send: SendRecord,
  stored: readonly StoredEvent[],
  contact: 'whole' | 'masked',
): Timeline {
  const events = [
    { at: send.acceptedAt, event: 'accepted', fields: {} },
    ...stored,
    ...latestAttempt(send),
  ].sort((a, b) => a.at.getTime() - b.at.getTime())
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
    events: events.map(({ at, event, fields }) => ({ at: at.toISOString(), event, ...fields })),
  }
}

function latestAttempt(send: SendRecord): StoredEvent[] {
  const { attempt, worker, claimedAt, finishedAt, attemptRecord, status, failure } = send
  const events: StoredEvent[] = []
  // A lost attempt that is to be followed by another is told by stored events already.
  if (status === 'queued') return events
  if (claimedAt) events.push({ at: claimedAt, event: 'attempt_started', fields: { attempt, worker } })
  if (!finishedAt) return events
  if (attemptRecord) events.push({ at: finishedAt, event: 'attempt_finished', fields: { ...attemptRecord } })
  else if (claimedAt)
    events.push({ at: finishedAt, event: 'attempt_lost', fields: { attempt, reason: failure } })
  events.push({ at: finishedAt, event: status, fields: failure === null ? {} : { reason: failure } })
  return events
}

function showContact(send: SendRecord, how: 'whole' | 'masked'): Contact {
  const { contactType: type, contactValue: value, contactName } = send
  if (how === 'masked') return { type, value: maskContact({ type, value }) }
  return contactName === null ? { type, value } : { type, value, name: contactName }
}
