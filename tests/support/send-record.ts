import type { SendRecord } from '../../src/core/sends/timeline.ts'

/** The part of a send's row that a timeline needs while it waits for its first attempt. */
export const queuedRecord: SendRecord = {
  requestId: '01890000-0000-7000-8000-000000000001',
  status: 'queued',
  channelId: '01890000-0000-7000-8000-000000000002',
  contactType: 'phone',
  contactValue: '+4915112345678',
  contactName: null,
  messageType: 'text',
  flowId: null,
  conversationId: null,
  acceptedAt: new Date(0),
  finishedAt: null,
  attempt: 0,
  worker: null,
  claimedAt: null,
  attemptRecord: null,
  providerMessageId: null,
  failure: null,
  delivery: null,
  deliveryAt: null,
  undelivered: null,
  sendAt: null,
  reference: null,
  sentThrough: null,
}
