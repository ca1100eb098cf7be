import { eq } from 'drizzle-orm'
import { addChecks } from '../claim-rule.ts'
import { type Database, inTransaction, type Transaction } from '../connection/client.ts'
import { countAccepts } from '../counters/counted-as.ts'
import { folded } from '../delivery/contact-rule.ts'
import { isUnfinished } from '../delivery/lane-rule.ts'
import { media } from '../schema.ts'
import { prepared, sqlText } from '../statement.ts'
import { copyMedia } from './copy-media.ts'
import { idempotencyKeptHours } from './idempotency-keys.ts'
import {
  columnNames,
  columnValues,
  fieldsAndTypes,
  type NewSend,
  scheduledColumnNames,
  scheduledColumnValues,
} from './new-send.ts'
import {
  isBeyondAccount,
  isBeyondChannel,
  isLoneOverflow,
  overflowOf,
  quotaUsed,
  withQuotaUsed,
} from './quota.ts'
import { isInTime, orTooLate, toBeCommittedBy } from './record-by.ts'

/** Whether a send goes to the queue, or waits for its `sendAt`. */
export type When = 'now' | 'later'

export interface RecordedSend {
  requestId: string
  /** The channel, if the send is beyond a quota of the ordinary queue. */
  overflowOf: string | null
  /** Whether it waits for an earlier send of its lane. */
  isBehind: boolean
}

const lane = sqlText`
  case ordering when 'contact' then
    hashtextextended(concat(
      "channelId", ' ', contact->>'type', ' ',
      ${folded("(contact->>'value')")}), 0) end`

/** SQL of the last unfinished send of a lane. */
const lastOf = (lane: string) => sqlText`
  (select request_id from sends s
   where s.lane = ${lane} and ${isUnfinished('s')}
   order by seq desc limit 1)`

/** SQL of what an accept returns of a row of `sends`. */
export const returned = sqlText`
  request_id as "requestId", ${overflowOf('sends')} as "overflowOf",
  behind is not null as "isBehind"`

/** What of the sends the counters and a check of the deadline need. */
export const alsoReturned = 'account_id, channel_id, accepted_at'

/** SQL of CTEs that insert sends, as `recorded`, and count them. @param from SQL of a relation, in its order. */
export const recordingFrom = (from: string) => sqlText`
  -- The sends, in the order in which they were given.
  recorded as (
    insert into sends (
      ${columnNames}, counted_as)
    select
      ${columnValues}, 'waiting'
    from ${from}
    returning ${returned}, ${alsoReturned}),
  ${countAccepts('recorded')}`

const theirResult = 'select "requestId", "overflowOf", "isBehind" from recorded'

/** For a single send without an Idempotency-Key, where the statement for many would spend most of its time on starting. */
const insertOneStatement = prepared<RecordedSend>(
  'insert_send',
  'Accepts a single send without an Idempotency-Key.',
  sqlText`
    with
    ${recordingFrom(sqlText`
      (
      -- The send before it in its lane, and whether it goes to the overflow.
      select given.*,
             ${lastOf('given.lane')} as behind,
             ${isLoneOverflow} as overflow
      from (
        -- The send, if it is in time, and its lane.
        select fields.*,
               ${lane} as lane
        from jsonb_to_record($1) as fields (
          ${fieldsAndTypes})
        where ${isInTime}) given) ordered`)}
    ${theirResult}`,
)

/** SQL of the CTE `given`. */
const given = sqlText`
  -- The sends that are in time.
  given as materialized (
    select fields.*
    from rows from (jsonb_to_recordset($1) as (
      ${fieldsAndTypes})) with ordinality as fields
    where ${isInTime})`

/** SQL of the CTEs `given` and `used`. */
const givenAndUsed = sqlText`
  ${given},
  -- What their accounts have used of their quota, by channel.
  used as materialized (
    ${quotaUsed})`

/** SQL of the CTE `ordered`, from sends of `given` and the CTE `used`. */
export const ordered = (source: string) => sqlText`
  -- The lane of each, and whether it is beyond its channel's quota.
  counted as (
    select given.*,
           ${lane} as lane,
           ${isBeyondChannel} as "isBeyondChannel",
           of_account.sends as "usedByAccount"
    from ${source} given
      ${withQuotaUsed}),
  -- The send before each in its lane, in this batch or earlier, and whether it goes to the overflow.
  ordered as (
    select counted.*,
           case when lane is not null then
             coalesce(lag("requestId") over (partition by lane order by ordinality),
                      ${lastOf('counted.lane')}) end as behind,
           "isBeyondChannel" or ${isBeyondAccount} as overflow
    from counted)`

const insertStatement = prepared<RecordedSend>(
  'insert_sends',
  'Accepts sends without an Idempotency-Key, which most sends are.',
  sqlText`
    with
    ${givenAndUsed},
    ${ordered('given')},
    ${recordingFrom('ordered order by ordinality')}
    ${theirResult}`,
)

/**
 * Keys are inserted in the order of their hashes; otherwise two batches could deadlock. Of several sends with one key in a
 * batch, the first one counts. The key of a scheduled send is kept from its time on.
 */
const admitted = sqlText`
  -- The keys that are unused, or whose last use has expired.
  keyed as (
    insert into idempotency_keys as kept (hash, fingerprint, request_id, created_at)
    select distinct on (idempotency->>'hash') decode(idempotency->>'hash', 'hex'),
           decode(idempotency->>'fingerprint', 'hex'), "requestId", greatest(clock_timestamp(), "sendAt")
    from given where idempotency is not null
    order by idempotency->>'hash', ordinality
    on conflict (hash) do update
      set fingerprint = excluded.fingerprint, request_id = excluded.request_id, batch = null,
          created_at = excluded.created_at
      where kept.created_at < clock_timestamp() - interval '${idempotencyKeptHours} hours'
    returning request_id),
  -- Sends without a key, and those that got theirs.
  admitted as (
    select * from given where idempotency is null or "requestId" in (select request_id from keyed))`

const recording = sqlText`
  ${givenAndUsed},
  ${admitted},
  ${ordered('admitted')},
  ${recordingFrom('ordered order by ordinality')}`

/**
 * Checks the deadline again, because inserting a key may have waited for another transaction. The condition refers to
 * `recorded`, so that PostgreSQL reads the clock after the insert.
 */
const recordedInTime = sqlText`
  select "requestId", "overflowOf", "isBehind"
  from recorded join given using ("requestId")
  where given.idempotency is null
     or ${orTooLate('clock_timestamp() < given."recordBy" and recorded.accepted_at is not null')}`

const recordingScheduled = sqlText`
  ${given},
  ${admitted},
  -- Sends to suppressed contacts fail before their time.
  checked as (
    ${addChecks(sqlText`
      (select "accountId" as account_id, contact->>'value' as contact_value from admitted)`)}),
  -- In the order in which they were given.
  recorded as (
    insert into scheduled_sends (
      ${scheduledColumnNames})
    select
      ${scheduledColumnValues}
    from admitted
    order by ordinality
    returning request_id as "requestId", null::uuid as "overflowOf", false as "isBehind", accepted_at)`

/** @param recording SQL of the CTEs up to `recorded`. */
const recordStatement = (name: string, purpose: string, recording: string) =>
  prepared<RecordedSend>(
    name,
    purpose,
    sqlText`
      with
      ${recording}
      ${recordedInTime}`,
  )

const andMedia = sqlText`
  ,
  -- $2 is the content of the media.
  stored as (
    insert into media (request_id, content) select "requestId", $2 from recorded)`

const insertKeyedStatement = recordStatement(
  'insert_keyed_sends',
  'Accepts sends with and without an Idempotency-Key.',
  recording,
)
const insertWithMediaStatement = recordStatement(
  'insert_send_with_media',
  'Accepts a single send with its media.',
  recording + andMedia,
)
const scheduleStatement = recordStatement(
  'schedule_sends',
  'Accepts sends that are to be sent later.',
  recordingScheduled,
)
const scheduleWithMediaStatement = recordStatement(
  'schedule_send_with_media',
  'Accepts a single send with its media that is to be sent later.',
  recordingScheduled + andMedia,
)

/**
 * Records sends in the given order, each atomically with its Idempotency-Key. Sends that are past their `recordBy`, and sends
 * whose key is taken, are missing from the result.
 *
 * @throws an error that `isTooLate` if a send became too late while it waited for its key; then none is recorded.
 */
export function insertSends(db: Database | Transaction, rows: readonly NewSend[]) {
  if (rows.some(({ idempotency }) => idempotency)) return insertKeyedStatement(db, [JSON.stringify(rows)])
  if (rows.length === 1) return insertOneStatement(db, [JSON.stringify(rows[0])])
  return insertStatement(db, [JSON.stringify(rows)])
}

/** Records sends that are to be sent later; otherwise like `insertSends`. */
export function scheduleSends(db: Database | Transaction, rows: readonly NewSend[]) {
  return scheduleStatement(db, [JSON.stringify(rows)])
}

/** Smaller media is faster in one statement with its send. */
const copiedFromBytes = 512 * 1024

/** Records one send atomically with its media, to be sent now or later; otherwise like `insertSends`. */
export async function insertSendWithMedia(db: Database, row: NewSend, content: Buffer, when: When = 'now') {
  if (content.length < copiedFromBytes) {
    const statement = when === 'now' ? insertWithMediaStatement : scheduleWithMediaStatement
    const [recorded] = await statement(db, [JSON.stringify([row]), content])
    return recorded
  }
  const record = when === 'now' ? insertSends : scheduleSends
  return await inTransaction(db, async (transaction) => {
    if (!(await copyMedia(transaction.$client, row, content))) return undefined
    const [recorded] = await record(transaction, [row])
    if (recorded) await toBeCommittedBy(transaction, row.recordBy)
    else await transaction.delete(media).where(eq(media.requestId, row.requestId))
    return recorded
  })
}
