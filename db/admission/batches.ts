import { type Database, inTransaction, type Transaction } from '../connection/client.ts'
import { isTooLate } from '../connection/errors.ts'
import { countAccepts } from '../counters/counted-as.ts'
import { prepared, sqlText } from '../statement.ts'
import { alsoReturned, ordered, returned } from './accept-parts.ts'
import type { RecordedSend } from './accepts.ts'
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
import { quotaUsed } from './quota.ts'
import { orTooLate, toBeCommittedBy } from './record-by.ts'

/** A message of a batch, and the content of its media. */
export interface BatchedSend {
  row: NewSend & { isLater: boolean }
  mediaContent: Buffer | undefined
}

export interface Batch {
  requestId: string
  sends: readonly BatchedSend[]
  /** The key of the whole batch. */
  idempotency: { hash: string; fingerprint: string } | undefined
  recordBy: Date
}

/**
 * All or none: the rows are in time by one reading of the clock, and a batch that becomes too late while it waits for its key is
 * rolled back.
 */
const insertStatement = prepared<RecordedSend>(
  'insert_batch',
  'Accepts a batch of sends, all or none.',
  sqlText`
    -- $1: the sends; $2: the hash of their key; $3: the fingerprint of their request; $4: its id; $5: until when.
    with
    -- The messages, all or none, in the order of the batch.
    given as materialized (
      select fields.*
      from rows from (jsonb_to_recordset($1) as (
        ${fieldsAndTypes},
        "isLater" boolean)) with ordinality as fields
      where now() < $5::timestamptz),
    -- The key, if it is unused, or its last use has expired.
    keyed as (
      insert into idempotency_keys as kept (hash, fingerprint, request_id, batch, created_at)
      select decode($2, 'hex'), decode($3, 'hex'), $4::uuid, array_agg("requestId" order by ordinality),
             greatest(clock_timestamp(), max("sendAt"))
      from given where $2::text is not null
      having count(*) > 0
      on conflict (hash) do update
        set fingerprint = excluded.fingerprint, request_id = excluded.request_id, batch = excluded.batch,
            created_at = excluded.created_at
        where kept.created_at < clock_timestamp() - interval '${idempotencyKeptHours} hours'
      returning request_id),
    -- All, if they have no key, or got it.
    admitted as materialized (
      select * from given where $2::text is null or exists (select from keyed)),
    -- The part of its quota that their account has used, by channel.
    used as materialized (
      ${quotaUsed}),
    -- Sends that don't wait for a time of their own.
    sent_now as (
      select * from admitted where not "isLater"),
    ${ordered('sent_now')},
    -- The sends, in the order in which they were given.
    recorded as (
      insert into sends (
        ${columnNames}, counted_as)
      select
        ${columnValues}, 'waiting'
      from ordered order by ordinality
      returning ${returned}, ${alsoReturned}),
    ${countAccepts('recorded')},
    -- Sends that do.
    scheduled as (
      insert into scheduled_sends (
        ${scheduledColumnNames})
      select
        ${scheduledColumnValues}
      from admitted where "isLater"
      order by ordinality
      returning request_id, null::uuid, false, ${alsoReturned})
    select "requestId", "overflowOf", "isBehind"
    from (select * from recorded union all select * from scheduled) accepted
    where ${orTooLate('clock_timestamp() < $5::timestamptz and accepted_at is not null')}`,
)

/**
 * Records a batch atomically with its Idempotency-Key and its media.
 *
 * @returns nothing if it was too late, or its key is taken; then nothing is recorded.
 */
export async function insertBatch(db: Database, batch: Batch): Promise<RecordedSend[]> {
  try {
    if (batch.sends.every(({ mediaContent }) => !mediaContent)) return await insertRows(db, batch)
    return await inTransaction(db, (transaction) => insertWithMedia(transaction, batch))
  } catch (error) {
    if (isTooLate(error)) return []
    throw error
  }
}

function insertRows(db: Database | Transaction, batch: Batch): Promise<RecordedSend[]> {
  const { requestId, sends, idempotency, recordBy } = batch
  const rows = JSON.stringify(sends.map(({ row }) => row))
  const { hash = null, fingerprint = null } = idempotency ?? {}
  return insertStatement(db, [rows, hash, fingerprint, requestId, recordBy])
}

async function insertWithMedia(transaction: Transaction, batch: Batch): Promise<RecordedSend[]> {
  const recorded = await insertRows(transaction, batch)
  if (recorded.length === 0) return recorded
  for (const { row, mediaContent } of batch.sends) {
    if (mediaContent) await copyMedia(transaction.$client, row, mediaContent)
  }
  // It also fails if one of them was too late to be stored.
  await toBeCommittedBy(transaction, batch.recordBy)
  return recorded
}
