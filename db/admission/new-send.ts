import type { Ordering } from '../../src/core/lane.ts'
import type { SendRequest } from '../../src/core/send-request.ts'
import { sends } from '../schema.ts'
import { sqlList } from '../statement.ts'

/** A send as it is recorded at accept: what the client asked for, and what the service knows about it. */
export interface NewSend extends Omit<SendRequest, 'mediaContent'> {
  requestId: string
  accountId: string
  channelId: string
  ordering: Ordering
  /** How long it may wait; undefined: without an end. */
  expireAfterSeconds: number | undefined
  /** Of its Idempotency-Key, and of all that was asked for with it; both in hex. */
  idempotency: { hash: string; fingerprint: string } | undefined
  /** Of the trace in which it is accepted. */
  traceparent?: string | undefined
  /** By PostgreSQL's clock. After it nothing is inserted: by then the client has been told 503. */
  recordBy: Date
}

/** The types of its fields in PostgreSQL, to which it travels as JSON. */
export const fieldTypes = {
  requestId: 'uuid',
  accountId: 'uuid',
  channelId: 'uuid',
  contact: 'jsonb',
  message: 'jsonb',
  flowId: 'uuid',
  closeConversation: 'boolean',
  ordering: 'text',
  expireAfterSeconds: 'float8',
  idempotency: 'jsonb',
  traceparent: 'text',
  recordBy: 'timestamptz',
} satisfies Record<keyof NewSend, string>

type Columns = { [Column in keyof typeof sends.$inferInsert]: string }

/**
 * The columns of its row, each in SQL over its fields and over `lane`, `behind` and `overflow`, which the statement finds
 * out. Every field with a column of its name is here; any other column that isn't here has a default.
 */
const columns = {
  requestId: '"requestId"',
  accountId: '"accountId"',
  channelId: '"channelId"',
  contactType: `contact->>'type'`,
  contactValue: `contact->>'value'`,
  contactName: `contact->>'name'`,
  messageType: `message->>'type'`,
  message: 'message',
  flowId: '"flowId"',
  closeConversation: '"closeConversation"',
  lane: 'lane',
  behind: 'behind',
  overflow: 'overflow',
  expiresAt: `clock_timestamp() + "expireAfterSeconds" * interval '1 s'`,
  traceparent: 'traceparent',
} satisfies Columns & Record<keyof Columns & keyof NewSend, string>

const keys = Object.keys(columns) as (keyof typeof columns)[]

/** SQL of the fields and their types, for `jsonb_to_recordset`. */
export const fieldsAndTypes = sqlList(Object.entries(fieldTypes).map(([field, type]) => `"${field}" ${type}`))

/** SQL of the names of the columns that an accept fills, and of what it fills them with. */
export const columnNames = sqlList(keys.map((key) => sends[key].name))
export const columnValues = sqlList(keys.map((key) => columns[key]))
