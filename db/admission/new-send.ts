import type { SmsSize } from '../../src/core/messages/segments.ts'
import type { Ordering } from '../../src/core/sends/lane.ts'
import { defaultPriority } from '../../src/core/sends/priority.ts'
import type { SendRequest } from '../../src/core/sends/send-request.ts'
import { scheduledSends, sends } from '../schema.ts'
import { sqlList, sqlText } from '../statement.ts'

/** A send to record: the client's request, and the fields that the service adds. */
export interface NewSend extends Omit<SendRequest, 'mediaContent'>, Partial<SmsSize> {
  requestId: string
  accountId: string
  channelId: string
  /** The API key that posts it; null for what an operator tries. */
  apiKeyId: string | null
  ordering: Ordering
  /** How long it may wait: by its channel, and no longer than its own `expiresInSeconds`. Undefined if it doesn't expire. */
  expireAfterSeconds: number | undefined
  /** Hash of its Idempotency-Key, and fingerprint of its request; both in hex. */
  idempotency: { hash: string; fingerprint: string } | undefined
  /** The trace in which it is accepted. */
  traceparent?: string | undefined
  /** The deadline, by PostgreSQL's clock. Nothing is inserted after it, because the client has got a 503 by then. */
  recordBy: Date
}

/** The PostgreSQL types of its fields, which are sent as JSON. */
const fieldTypes = {
  requestId: 'uuid',
  accountId: 'uuid',
  channelId: 'uuid',
  apiKeyId: 'uuid',
  contact: 'jsonb',
  message: 'jsonb',
  flowId: 'uuid',
  closeConversation: 'boolean',
  priority: 'priority',
  ordering: 'text',
  expireAfterSeconds: 'float8',
  idempotency: 'jsonb',
  traceparent: 'text',
  sendAt: 'timestamptz',
  reference: 'text',
  expiresInSeconds: 'int',
  metadata: 'jsonb',
  segments: 'int',
  encoding: 'text',
  recordBy: 'timestamptz',
} satisfies Record<keyof NewSend, string>

type Columns = { [Column in keyof typeof sends.$inferInsert]: string }

/**
 * The columns of its row, as SQL expressions over its fields and over `lane`, `behind` and `overflow`, which the statement
 * determines. The types make sure that each field with a column of the same name is here. All other columns have defaults.
 */
const columns = {
  requestId: '"requestId"',
  accountId: '"accountId"',
  channelId: '"channelId"',
  apiKeyId: '"apiKeyId"',
  contactType: `contact->>'type'`,
  contactValue: `contact->>'value'`,
  contactName: `contact->>'name'`,
  messageType: `message->>'type'`,
  message: 'message',
  flowId: '"flowId"',
  closeConversation: '"closeConversation"',
  priority: `coalesce(priority, '${defaultPriority}')`,
  lane: 'lane',
  behind: 'behind',
  overflow: 'overflow',
  expiresAt: `clock_timestamp() + "expireAfterSeconds" * interval '1 s'`,
  traceparent: 'traceparent',
  sendAt: '"sendAt"',
  reference: 'reference',
  expiresInSeconds: '"expiresInSeconds"',
  metadata: 'metadata',
  segments: 'segments',
  encoding: 'encoding',
} satisfies Columns & Record<keyof Columns & keyof NewSend, string>

const keys = Object.keys(columns) as (keyof typeof columns)[]

/** SQL of the fields and their types, for `jsonb_to_recordset`. */
export const fieldsAndTypes = sqlList(Object.entries(fieldTypes).map(([field, type]) => `"${field}" ${type}`))

/** SQL of the columns that an accept fills, and of their values. */
export const columnNames = sqlList(keys.map((key) => sends[key].name))
export const columnValues = sqlList(keys.map((key) => columns[key]))

const scheduledKeys = keys.filter((key) => key in scheduledSends) as (keyof typeof columns &
  keyof typeof scheduledSends.$inferInsert)[]

/** Columns and values of a scheduled send, which has no place in a lane or a queue yet. */
export const scheduledColumnNames = sqlList(scheduledKeys.map((key) => scheduledSends[key].name))
export const scheduledColumnValues = sqlList(scheduledKeys.map((key) => columns[key]))

/** SQL of the end of the client's own limit of a row `s` of either table; null without one. */
export const ownExpiry = sqlText`
  greatest(s.accepted_at, s.send_at)
    + s.expires_in_seconds * interval '1 s'`

/** SQL of the fields of rows `s` of scheduled sends whose channels are `channels`, as an accept gives them now. */
export const fieldsOfScheduled = sqlText`
  s.request_id as "requestId", s.account_id as "accountId", s.channel_id as "channelId",
  s.api_key_id as "apiKeyId",
  jsonb_strip_nulls(jsonb_build_object('type', s.contact_type, 'value', s.contact_value,
                                       'name', s.contact_name)) as contact,
  s.message, s.flow_id as "flowId", s.close_conversation as "closeConversation", s.priority, channels.ordering,
  least(channels.expire_after_seconds,
        extract(epoch from (
          ${ownExpiry}) - clock_timestamp())) as "expireAfterSeconds",
  s.traceparent, s.reference, s.expires_in_seconds as "expiresInSeconds", s.metadata,
  s.segments, s.encoding,
  s.send_at as "sendAt", s.accepted_at as "acceptedAt"`
