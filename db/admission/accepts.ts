import { eq } from 'drizzle-orm'
import type { Contact } from '../../src/core/contact.ts'
import type { Ordering } from '../../src/core/lane.ts'
import type { Message } from '../../src/core/message.ts'
import { type Database, givesUpAfterMs, inTransaction, type Transaction } from '../client.ts'
import { isUnfinished } from '../lanes.ts'
import { media } from '../schema.ts'
import { prepared, sqlText } from '../statement.ts'
import { copyMedia } from './copy-media.ts'
import { idempotencyKeptHours } from './idempotency-keys.ts'
import { isBeyondChannel, isLoneOverflow, isOverflow, overflowOf, quotaUsed, withQuotaUsed } from './quota.ts'

/** A send as it is recorded at accept. */
export interface NewSend {
  requestId: string
  accountId: string
  channelId: string
  contact: Contact
  message: Message
  flowId: string | undefined
  closeConversation: boolean
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

export interface RecordedSend {
  requestId: string
  /** The channel, where its places in the ordinary queue are all taken. */
  overflowOf: string | null
  /** It waits for an earlier send of its lane. */
  isBehind: boolean
}

/** As a row travels in JSON. */
const columns = sqlText`
  "requestId" uuid, "accountId" uuid, "channelId" uuid, contact jsonb, message jsonb, "flowId" uuid,
  "closeConversation" boolean, ordering text, "expireAfterSeconds" float8, idempotency jsonb, traceparent text,
  "recordBy" timestamptz`

const isInTime = 'clock_timestamp() < "recordBy"'

const lane = sqlText`
  case ordering when 'contact' then
    hashtextextended(concat("channelId", ' ', contact->>'type', ' ', contact->>'value'), 0) end`

/** SQL of the last unfinished send of the lane of `one`. */
const lastOfLane = sqlText`
  (select request_id from sends s where s.lane = one.lane and ${isUnfinished('s')} order by seq desc limit 1)`

/** SQL that inserts the rows of `one`, to be followed by where they come from. */
const intoSends = ({ behind, overflow }: { behind: string; overflow: string }) => sqlText`
  insert into sends (request_id, account_id, channel_id, contact_type, contact_value, contact_name, message_type,
                     message, flow_id, close_conversation, lane, behind, overflow, expires_at, traceparent)
  select "requestId", "accountId", "channelId", contact->>'type', contact->>'value', contact->>'name',
         message->>'type', message, "flowId", "closeConversation", lane, ${behind}, ${overflow},
         clock_timestamp() + "expireAfterSeconds" * interval '1 s', traceparent`

const returned = sqlText`
  request_id as "requestId", ${overflowOf('sends')} as "overflowOf",
  behind is not null as "isBehind"`

const givenAndTaken = sqlText`
  given as materialized (
    select given.* from rows from (jsonb_to_recordset($1) as (${columns})) with ordinality as given where ${isInTime}),
  taken as materialized (${quotaUsed})`

/** SQL that inserts rows of `given`, in their order. */
const givenIntoSends = (which: string) => sqlText`
  ${intoSends({
    behind: sqlText`
      case when lane is not null then
        coalesce(lag("requestId") over (partition by lane order by ordinality), ${lastOfLane}) end`,
    overflow: isOverflow,
  })}
  from (select given.*, of_account.places as "usedByAccount", ${isBeyondChannel} as "isBeyondChannel", ${lane} as lane
        from given ${withQuotaUsed} ${which}) one
  order by ordinality`

/**
 * Keys are inserted in the order of their hashes, or two batches could wait for each other. Of several sends with one
 * key in a batch, the first one counts.
 */
const recording = sqlText`
  ${givenAndTaken},
  keyed as (
    insert into idempotency_keys as kept (hash, fingerprint, request_id)
    select distinct on (idempotency->>'hash') decode(idempotency->>'hash', 'hex'),
           decode(idempotency->>'fingerprint', 'hex'), "requestId"
    from given where idempotency is not null
    order by idempotency->>'hash', ordinality
    on conflict (hash) do update
      set fingerprint = excluded.fingerprint, request_id = excluded.request_id, created_at = excluded.created_at
      where kept.created_at < clock_timestamp() - interval '${idempotencyKeptHours} hours'
    returning request_id),
  recorded as (
    ${givenIntoSends('where idempotency is null or "requestId" in (select request_id from keyed)')}
    returning ${returned}, accepted_at)`

/**
 * A key that another transaction was inserting has been waited for. If that took too long, all is undone, by a
 * division by zero. It names `recorded` so that PostgreSQL can't do it before.
 */
const unlessTooLate = sqlText`
  select "requestId", "overflowOf", "isBehind"
  from recorded join given using ("requestId")
  where given.idempotency is null
     or 1 / (clock_timestamp() < given."recordBy" and recorded.accepted_at is not null)::int = 1`

const insertKeyedStatement = prepared<RecordedSend>(
  'insert_keyed_sends',
  'Accepts sends with and without an Idempotency-Key.',
  sqlText`
    with ${recording}
    ${unlessTooLate}`,
)

/** For sends without an Idempotency-Key, which is what most are. */
const insertStatement = prepared<RecordedSend>(
  'insert_sends',
  'Accepts sends without an Idempotency-Key, which is what most are.',
  sqlText`
    with ${givenAndTaken}
    ${givenIntoSends('')}
    returning ${returned}`,
)

/** For a single one of these: the statement for many would spend most of its time on starting. */
const insertOneStatement = prepared<RecordedSend>(
  'insert_send',
  'Accepts a single send without an Idempotency-Key.',
  sqlText`
    ${intoSends({ behind: lastOfLane, overflow: isLoneOverflow })}
    from (select given.*, ${lane} as lane from jsonb_to_record($1) as given (${columns}) where ${isInTime}) one
    returning ${returned}`,
)

const insertWithMediaStatement = prepared<RecordedSend>(
  'insert_send_with_media',
  'Accepts a single send with its media.',
  sqlText`
    with ${recording},
    stored as (insert into media (request_id, content) select "requestId", $2 from recorded)
    ${unlessTooLate}`,
)

/**
 * Records sends in the order given, each with its Idempotency-Key, both or neither. Missing from the answer are those
 * that came too late for their `recordBy`, and those whose key is taken.
 *
 * @throws an error that `isTooLate`, and records none, where one came too late for having waited for its key.
 */
export function insertSends(db: Database | Transaction, rows: readonly NewSend[]) {
  if (rows.some(({ idempotency }) => idempotency)) return insertKeyedStatement(db, [JSON.stringify(rows)])
  if (rows.length === 1) return insertOneStatement(db, [JSON.stringify(rows[0])])
  return insertStatement(db, [JSON.stringify(rows)])
}

/**
 * The last statement of a transaction: PostgreSQL waits for its commit until that moment, and ends it then. A commit that was
 * held up on its way comes when the client has long been told 503. After the moment it fails, by a division by zero.
 */
const toBeCommittedBy = prepared(
  'to_be_committed_by',
  'Makes PostgreSQL end the transaction unless it is committed by then.',
  sqlText`
    select set_config('idle_in_transaction_session_timeout', (ms / (ms > 0)::int)::text, true)
    from (select least(${givesUpAfterMs}, ceil(extract(epoch from $1::timestamptz - clock_timestamp()) * 1000))::int as ms) until`,
)

/** Less goes faster with its send, in one statement. */
const copiedFromBytes = 512 * 1024

/** Records one send with its media, both or neither; else like `insertSends`. */
export async function insertSendWithMedia(db: Database, row: NewSend, content: Buffer) {
  if (content.length < copiedFromBytes) {
    const [recorded] = await insertWithMediaStatement(db, [JSON.stringify([row]), content])
    return recorded
  }
  return await inTransaction(db, async (transaction) => {
    if (!(await copyMedia(transaction.$client, row, content))) return undefined
    const [recorded] = await insertSends(transaction, [row])
    if (recorded) await toBeCommittedBy(transaction, [row.recordBy])
    else await transaction.delete(media).where(eq(media.requestId, row.requestId))
    return recorded
  })
}
