import { recordFields } from '../../db/sends/both-tables.ts'
import { type SendRecord, timelineFields } from '../../src/core/sends/timeline.ts'

const nullOf = (names: readonly string[]) => Object.fromEntries(names.map((name) => [name, null]))

/** A timeline of which nothing is known, with what a send has from the start. */
export const unknownTimeline = { ...nullOf(Object.keys(timelineFields)), priority: 'normal' }

const unknownRecord = nullOf(recordFields) as {
  [Name in keyof SendRecord]: null extends SendRecord[Name] ? null : never
}

/** The part of a send's row that a timeline needs while it waits for its first attempt. */
export const queuedRecord: SendRecord = {
  ...unknownRecord,
  requestId: '01890000-0000-7000-8000-000000000001',
  status: 'queued',
  channelId: '01890000-0000-7000-8000-000000000002',
  contactType: 'phone',
  contactValue: '+4915112345678',
  messageType: 'text',
  acceptedAt: new Date(0),
  attempt: 0,
  priority: 'normal',
}
