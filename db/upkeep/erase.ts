import { type SQL, sql } from 'drizzle-orm'
import { type Contact, erasedContactValue } from '../../src/core/contacts/contact.ts'
import { type Message, type MessageType, messageTypes } from '../../src/core/messages/message.ts'
import type { EventField } from '../../src/core/sends/timeline-events.ts'
import { firstsOfBatches, idempotencyKeptHours, timeOfKey } from '../admission/idempotency-keys.ts'
import { type Database, inTransaction, type Transaction } from '../connection/client.ts'
import { contactIs } from '../delivery/contact-rule.ts'
import { eventOf } from '../sends/event-sql.ts'
import { sqlList, sqlText } from '../statement.ts'

/** The fields of an event that are kept. Others may identify the contact: providers' texts, and ids such as WhatsApp's. */
const keptFields = [
  'conversationId',
  'attempt',
  'worker',
  'outcome',
  'fault',
  'durationMs',
  'providerStatus',
  'providerCode',
  'providerAt',
  'nextAttemptAt',
  'sendAt',
  'late',
  'fromChannelId',
  'toChannelId',
  'as',
  'cost',
] satisfies EventField[]

/** SQL that redacts an event's fields: all but `keptFields` become null. */
export const redactedFields = (fields: string) => sqlText`
  (select json_object_agg(key, case when key in (
     ${sqlList(keptFields.map((name) => `'${name}'`))}) then value else 'null' end)
   from json_each(${fields}))`

/** SQL that is true for a send `s` of an erased contact. */
export const isErased = `s.contact_value = '${erasedContactValue}'`

const json = (message: Message) => sql`${JSON.stringify(message)}::jsonb`

/** An empty message of each type, in the form that its readers expect. */
const emptyMessages: Record<MessageType, SQL> = {
  text: json({ type: 'text', text: { value: '' } }),
  template: json({ type: 'template', template: { name: '', variables: [] } }),
  media: sql`
    jsonb_build_object('type', 'media', 'media',
                       jsonb_build_object('mediaType', s.message->'media'->'mediaType'))`,
}
const emptyMessage = sql`
  case s.message_type
    ${sql.join(
      messageTypes.map((type) => sql`when ${sql.raw(`'${type}'`)} then ${emptyMessages[type]}`),
      sql` `,
    )} end`

/** An account's contact. */
interface ContactOf {
  accountId: string
  contact: Pick<Contact, 'type' | 'value'>
}

const findPageSize = 1000
/** Few enough that their media, which may be large, can be deleted within the time-out of a statement. */
const erasePageSize = 100
const conversationPageSize = 500

/**
 * Erases content and contact of an account's finished sends to a contact, and the contact of its conversations. It works page by
 * page, so that it can be interrupted and run again.
 *
 * @returns how many sends were erased, and how many have not ended.
 */
export async function eraseContact(
  db: Database,
  contactOf: ContactOf,
): Promise<{ erased: number; unfinished: number }> {
  const total = { erased: 0, unfinished: 0 }
  for (let isMore = true; isMore; ) {
    const { finished, unfinished } = await findContactSends(db, contactOf)
    if (finished.length > 0) await forgetFingerprints(db, finished)
    total.unfinished = unfinished
    for (let start = 0; start < finished.length; start += erasePageSize) {
      const ids = finished.slice(start, start + erasePageSize)
      const erased = await eraseSends(db, ids)
      total.erased += erased
      // The others were replayed since they were found.
      total.unfinished += ids.length - erased
    }
    isMore = finished.length === findPageSize
  }
  await eraseConversations(db, contactOf)
  return total
}

/** A page of a contact's sends. */
interface SendsPage {
  /** Sends that have ended. Once erased, they are no longer found. */
  finished: string[]
  /** How many sends have not ended; on the last page alone. */
  unfinished: number
}

/**
 * Locks nothing. Makes PostgreSQL use the index `sends_of_contact`, whatever its statistics: sequential scans are off, and the
 * condition is not `finished_at is null`, for which it could use an index of all unfinished sends.
 */
async function findContactSends(db: Database, { accountId, contact }: ContactOf): Promise<SendsPage> {
  const areTheirs = sql`${contactIs(contact.value)} and account_id = ${accountId} and contact_type = ${contact.type}`
  return await inTransaction(db, async (transaction) => {
    await transaction.execute(sql`set local enable_seqscan = off`)
    const { rows } = await transaction.execute<SendsPage & Record<string, unknown>>(sql`
      with page as materialized (
        select request_id from sends where ${areTheirs} and finished_at is not null limit ${findPageSize})
      select array(select request_id::text from page order by 1) as finished,
             case when (select count(*) from page) < ${findPageSize} then
               (select count(*) filter (where finished_at is null)::int from sends where ${areTheirs})
               + (select count(*)::int from scheduled_sends where ${areTheirs})
             else 0 end as unfinished`)
    return rows[0] ?? { finished: [], unfinished: 0 }
  })
}

/**
 * Erases content and contact of finished sends, except those that were replayed meanwhile. A separate statement locks them, so
 * that the next statement sees everything that a late outcome wrote at this moment.
 *
 * @returns how many were erased.
 */
export async function eraseSends(db: Database, requestIds: readonly string[]): Promise<number> {
  return await inTransaction(db, async (transaction) => {
    const { rows } = await transaction.execute<{ id: string }>(sql`
      select request_id as id from sends s
      where request_id = any(${idArray(requestIds)}) and finished_at is not null and not ${sql.raw(isErased)}
      order by request_id for no key update`)
    const ids = rows.map(({ id }) => id)
    // Uses indexes even if PostgreSQL's statistics are outdated and it would rather read whole tables.
    await transaction.execute(sql`set local enable_seqscan = off`)
    if (ids.length > 0) await eraseLocked(transaction, idArray(ids))
    return ids.length
  })
}

/** Without a `failure`, no release replays a send. The `lane` is removed, because numbers could be guessed by its hash. */
async function eraseLocked(transaction: Transaction, ids: SQL): Promise<void> {
  await transaction.execute(sql`
    with old_media as (delete from media where request_id = any(${ids})),
    old_messages as (delete from sandbox_messages where request_id = any(${ids})),
    old_events as (
      update send_events e set fields = ${sql.raw(redactedFields('e.fields'))}
      where e.request_id = any(${ids}) and e.fields::text <> '{}'),
    events as (
      insert into send_events (request_id, at, event, fields)
      select id, ${sql.raw(eventOf('clock_timestamp()', 'erased', {}))} from unnest(${ids}) as id)
    update sends s
    set contact_value = ${erasedContactValue}, contact_name = null, message = ${emptyMessage}, lane = null,
        provider_message_id = null, failure = null, reference = null, metadata = null, pending_receipts = null,
        attempt_record = case when s.attempt_record is not null then ${sql.raw(redactedFields('s.attempt_record'))} end
    where s.request_id = any(${ids})`)
}

/**
 * Removes the fingerprints of Idempotency-Keys, by which content could be guessed. The keys stay, so that a repeat doesn't become a
 * second send. Keys have no index on their sends, so they are found by their time; those of batches by their first send, whose id
 * is about as old as those of the others. They are locked in the order of accepts.
 */
async function forgetFingerprints(db: Database, requestIds: readonly string[]): Promise<void> {
  const { earliest, latest } = firstsOfBatches(requestIds)
  await db.execute(sql`
    with recent as materialized (
      select request_id, key_at
      from sends s cross join lateral (select ${sql.raw(timeOfKey('s'))} as key_at) stored
      where request_id = any(${idArray(requestIds)})
        and key_at > now() - ${idempotencyKeptHours + 1} * interval '1 hour'),
    of_batches as materialized (
      select k.hash
      from unnest(${idArray(requestIds)}, ${idArray(earliest)}, ${idArray(latest)}) as one (id, earliest, latest)
        cross join lateral (
          select hash from idempotency_keys
          where batch is not null and batch[1] between earliest and latest and id = any(batch)) k),
    theirs as materialized (
      select hash from idempotency_keys
      where hash = any(array(
        select hash from idempotency_keys
        where created_at between (select min(key_at) - interval '1 minute' from recent)
                             and (select max(key_at) + interval '1 minute' from recent)
          and request_id in (select request_id from recent)
        union
        select hash from of_batches))
      order by hash for no key update)
    update idempotency_keys k set fingerprint = '' from theirs where k.hash = theirs.hash`)
}

/** Closes the conversations with a contact, and erases the contact from them. */
async function eraseConversations(db: Database, { accountId, contact }: ContactOf): Promise<void> {
  const { rowCount } = await db.execute(sql`
    update conversations c set contact_value = ${erasedContactValue}, closed_at = coalesce(c.closed_at, now())
    from (select id from conversations
          where account_id = ${accountId} and contact_type = ${contact.type} and ${contactIs(contact.value)}
          order by id limit ${conversationPageSize} for no key update) theirs
    where c.id = theirs.id`)
  if (rowCount === conversationPageSize) await eraseConversations(db, { accountId, contact })
}

function idArray(requestIds: readonly string[]): SQL {
  return sql`${sql.param(requestIds)}::uuid[]`
}
