import { eq } from 'drizzle-orm'
import { addChecks } from '../claim-rule.ts'
import { type Database, inTransaction, type Transaction } from '../connection/client.ts'
import { countAccepts } from '../counters/counted-as.ts'
import { media } from '../schema.ts'
import { prepared, sqlText } from '../statement.ts'
import {
  admitted,
  alsoReturned,
  given,
  lane,
  lastOf,
  ordered,
  returned,
  urgency,
  used,
} from './accept-parts.ts'
import { copyMedia } from './copy-media.ts'
import {
  columnNames,
  columnValues,
  fieldsAndTypes,
  type NewSend,
  scheduledColumnNames,
  scheduledColumnValues,
} from './new-send.ts'
import { isLoneOverflow } from './quota.ts'
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

/** For a single send without an Idempotency-Key, where the statement for many would spend most of its time on starting. */
const insertOneStatement = prepared<RecordedSend>(
  'insert_send',
  'Accepts a single send without an Idempotency-Key.',
  sqlText`
    with
    -- The send, in its lane.
    recorded as (
      insert into sends (
        ${columnNames}, counted_as)
      select
        ${columnValues}, 'waiting'
      from (
        -- The send before it in its lane, and whether it goes to the overflow.
        select given.*,
               ${lastOf('given.lane')} as behind,
               ${isLoneOverflow} as overflow
        from (
          -- The send, if it is in time, and its lane.
          select fields.*,
                 ${lane} as lane,
                 ${urgency}
          from jsonb_to_record($1) as fields (
            ${fieldsAndTypes})
          where ${isInTime}) given) ordered
      returning ${returned}, ${alsoReturned}),
    ${countAccepts('recorded')}
    select "requestId", "overflowOf", "isBehind" from recorded`,
)

const insertStatement = prepared<RecordedSend>(
  'insert_sends',
  'Accepts sends without an Idempotency-Key, which most sends are.',
  sqlText`
    with
    ${given},
    ${used},
    ${ordered('given')},
    -- The sends, in the order in which they were given.
    recorded as (
      insert into sends (
        ${columnNames}, counted_as)
      select
        ${columnValues}, 'waiting'
      from ordered order by ordinality
      returning ${returned}, ${alsoReturned}),
    ${countAccepts('recorded')}
    select "requestId", "overflowOf", "isBehind" from recorded`,
)

/**
 * The deadline is checked again at the end, because inserting a key may have waited for another transaction. The condition refers to
 * `recorded`, so that PostgreSQL reads the clock after the insert.
 */
const stillInTime = orTooLate('clock_timestamp() < given."recordBy" and recorded.accepted_at is not null')

const insertKeyedStatement = prepared<RecordedSend>(
  'insert_keyed_sends',
  'Accepts sends with and without an Idempotency-Key.',
  sqlText`
    with
    ${given},
    ${used},
    ${admitted},
    ${ordered('admitted')},
    -- The sends, in the order in which they were given.
    recorded as (
      insert into sends (
        ${columnNames}, counted_as)
      select
        ${columnValues}, 'waiting'
      from ordered order by ordinality
      returning ${returned}, ${alsoReturned}),
    ${countAccepts('recorded')}
    select "requestId", "overflowOf", "isBehind"
    from recorded join given using ("requestId")
    where given.idempotency is null
       or ${stillInTime}`,
)

const insertWithMediaStatement = prepared<RecordedSend>(
  'insert_send_with_media',
  'Accepts a single send with its media.',
  sqlText`
    -- $1: the send; $2: the content of its media.
    with
    ${given},
    ${used},
    ${admitted},
    ${ordered('admitted')},
    -- The send.
    recorded as (
      insert into sends (
        ${columnNames}, counted_as)
      select
        ${columnValues}, 'waiting'
      from ordered order by ordinality
      returning ${returned}, ${alsoReturned}),
    ${countAccepts('recorded')},
    -- Its media.
    stored as (
      insert into media (request_id, content) select "requestId", $2 from recorded)
    select "requestId", "overflowOf", "isBehind"
    from recorded join given using ("requestId")
    where given.idempotency is null
       or ${stillInTime}`,
)

/** SQL of a CTE that lets sends of `admitted` to suppressed contacts fail before their time. */
const checked = sqlText`
  -- Sends to suppressed contacts fail before their time.
  checked as (
    ${addChecks(sqlText`
      (select "accountId" as account_id, contact->>'value' as contact_value from admitted)`)})`

const scheduleStatement = prepared<RecordedSend>(
  'schedule_sends',
  'Accepts sends that are to be sent later.',
  sqlText`
    with
    ${given},
    ${admitted},
    ${checked},
    -- In the order in which they were given.
    recorded as (
      insert into scheduled_sends (
        ${scheduledColumnNames})
      select
        ${scheduledColumnValues}
      from admitted
      order by ordinality
      returning request_id as "requestId", accepted_at)
    select "requestId", null::uuid as "overflowOf", false as "isBehind"
    from recorded join given using ("requestId")
    where given.idempotency is null
       or ${stillInTime}`,
)

const scheduleWithMediaStatement = prepared<RecordedSend>(
  'schedule_send_with_media',
  'Accepts a single send with its media that is to be sent later.',
  sqlText`
    -- $1: the send; $2: the content of its media.
    with
    ${given},
    ${admitted},
    ${checked},
    -- The send.
    recorded as (
      insert into scheduled_sends (
        ${scheduledColumnNames})
      select
        ${scheduledColumnValues}
      from admitted
      order by ordinality
      returning request_id as "requestId", accepted_at),
    -- Its media.
    stored as (
      insert into media (request_id, content) select "requestId", $2 from recorded)
    select "requestId", null::uuid as "overflowOf", false as "isBehind"
    from recorded join given using ("requestId")
    where given.idempotency is null
       or ${stillInTime}`,
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
