import { type SQL, sql } from 'drizzle-orm'
import { type Contact, erasedContactValue } from '../../src/core/contact.ts'
import type { Message } from '../../src/core/message.ts'
import type { EventField } from '../../src/core/timeline-events.ts'
import { idempotencyKeptHours } from '../admission/idempotency-keys.ts'
import { type Database, inTransaction, type Transaction } from '../client.ts'
import { eventOf } from '../events.ts'
import { sqlText } from '../statement.ts'

/** What is kept of an event. Of the rest, providers' words and ids, any may tell who the contact was: WhatsApp's ids do. */
const boneFields = [
  'conversationId',
  'attempt',
  'worker',
  'outcome',
  'fault',
  'durationMs',
  'providerStatus',
  'providerCode',
  'nextAttemptAt',
  'late',
] satisfies EventField[]

/** SQL of an event's fields with all but its bones null. */
export const bonesOf = (fields: string) => sqlText`
  (select json_object_agg(key, case when key in (${boneFields.map((name) => `'${name}'`).join(',')}) then value else 'null' end)
   from json_each(${fields}))`

/** SQL that is true of a send `s` of an erased contact. */
export const isErased = `s.contact_value = '${erasedContactValue}'`

const emptyText: Message = { type: 'text', text: { value: '' } }
const emptyTemplate: Message = { type: 'template', template: { name: '', variables: [] } }

/** Of the form that its readers rely on, with nothing in it. */
const emptyMessage = sql`
  case s.message_type
    when 'text' then ${JSON.stringify(emptyText)}::jsonb
    when 'template' then ${JSON.stringify(emptyTemplate)}::jsonb
    else jsonb_build_object('type', 'media', 'media',
                            jsonb_build_object('mediaType', s.message->'media'->'mediaType')) end`

/** An account's contact, as its sends have it. */
interface ContactOf {
  accountId: string
  contact: Pick<Contact, 'type' | 'value'>
}

const findPageSize = 1000
/** Few enough for their media, which may be large, to be gone within the time of a statement. */
const erasePageSize = 100
const conversationPageSize = 500

/**
 * Erases content and contact of an account's finished sends to a contact, and its conversations' contact. It goes page by
 * page: what is erased stays so wherever it ends, and the next run goes on.
 *
 * @returns how many were erased, and how many there are that haven't ended.
 */
export async function eraseContact(
  db: Database,
  theirs: ContactOf,
): Promise<{ erased: number; unfinished: number }> {
  const total = { erased: 0, unfinished: 0 }
  for (let isMore = true; isMore; ) {
    const { finished, unfinished } = await findContactSends(db, theirs)
    if (finished.length > 0) await forgetFingerprints(db, finished)
    total.unfinished = unfinished
    for (let start = 0; start < finished.length; start += erasePageSize) {
      const ids = finished.slice(start, start + erasePageSize)
      const erased = await eraseSends(db, ids)
      total.erased += erased
      // Replayed since they were found.
      total.unfinished += ids.length - erased
    }
    isMore = finished.length === findPageSize
  }
  await eraseConversations(db, theirs)
  return total
}

/** A page of a contact's sends. */
interface SendsPage {
  /** Those that have ended; erased, they are no longer found. */
  finished: string[]
  /** With the last page: how many haven't ended. */
  unfinished: number
}

/**
 * Locks none. `sends_of_contact` leads to them whatever PostgreSQL knows of the table: without a whole reading of it, and
 * without \`finished_at is null\` for a condition, by which indexes of all that is unfinished would do, too.
 */
async function findContactSends(db: Database, { accountId, contact }: ContactOf): Promise<SendsPage> {
  const areTheirs = sql`contact_value = ${contact.value} and account_id = ${accountId} and contact_type = ${contact.type}`
  return await inTransaction(db, async (transaction) => {
    await transaction.execute(sql`set local enable_seqscan = off`)
    const { rows } = await transaction.execute<SendsPage & Record<string, unknown>>(sql`
      with page as materialized (
        select request_id from sends where ${areTheirs} and finished_at is not null limit ${findPageSize})
      select array(select request_id::text from page order by 1) as finished,
             case when (select count(*) from page) < ${findPageSize} then
               (select count(*) filter (where finished_at is null)::int from sends where ${areTheirs})
             else 0 end as unfinished`)
    return rows[0] ?? { finished: [], unfinished: 0 }
  })
}

/**
 * Erases content and contact of finished sends; of one that has been replayed meanwhile, nothing. They are locked by a
 * statement of their own, so that the next one sees all that an outcome wrote that came late at this moment.
 *
 * @returns how many.
 */
export async function eraseSends(db: Database, requestIds: readonly string[]): Promise<number> {
  return await inTransaction(db, async (transaction) => {
    const { rows } = await transaction.execute<{ id: string }>(sql`
      select request_id as id from sends s
      where request_id = any(${idArray(requestIds)}) and finished_at is not null and not ${sql.raw(isErased)}
      order by request_id for no key update`)
    const ids = rows.map(({ id }) => id)
    // All by their indexes, also where PostgreSQL knows too little of its tables and would rather read them whole.
    await transaction.execute(sql`set local enable_seqscan = off`)
    if (ids.length > 0) await eraseLocked(transaction, idArray(ids))
    return ids.length
  })
}

/** Without a `failure` no release replays a send, and without a `lane` nobody can try numbers until its hash fits. */
async function eraseLocked(transaction: Transaction, ids: SQL): Promise<void> {
  await transaction.execute(sql`
    with old_media as (delete from media where request_id = any(${ids})),
    old_messages as (delete from sandbox_messages where request_id = any(${ids})),
    old_events as (
      update send_events e set fields = ${sql.raw(bonesOf('e.fields'))}
      where e.request_id = any(${ids}) and e.fields::text <> '{}'),
    events as (
      insert into send_events (request_id, at, event, fields)
      select id, ${sql.raw(eventOf('clock_timestamp()', 'erased', {}))} from unnest(${ids}) as id)
    update sends s
    set contact_value = ${erasedContactValue}, contact_name = null, message = ${emptyMessage}, lane = null,
        provider_message_id = null, failure = null,
        attempt_record = case when s.attempt_record is not null then ${sql.raw(bonesOf('s.attempt_record'))} end
    where s.request_id = any(${ids})`)
}

/**
 * An Idempotency-Key goes on standing for its send, so that no repeat becomes a second one; its fingerprint, by which
 * content could be guessed, doesn't. Keys have no index on their sends, but were written at the same moment. They are
 * locked in the order in which accepts lock them.
 */
async function forgetFingerprints(db: Database, requestIds: readonly string[]): Promise<void> {
  await db.execute(sql`
    with recent as materialized (
      select request_id, accepted_at from sends
      where request_id = any(${idArray(requestIds)})
        and accepted_at > now() - ${idempotencyKeptHours + 1} * interval '1 hour'),
    theirs as materialized (
      select hash from idempotency_keys
      where created_at between (select min(accepted_at) - interval '1 minute' from recent)
                           and (select max(accepted_at) + interval '1 minute' from recent)
        and request_id in (select request_id from recent)
      order by hash for no key update)
    update idempotency_keys k set fingerprint = '' from theirs where k.hash = theirs.hash`)
}

/** Ends the conversations with a contact, and forgets whom they were with. */
async function eraseConversations(db: Database, { accountId, contact }: ContactOf): Promise<void> {
  const { rowCount } = await db.execute(sql`
    update conversations c set contact_value = ${erasedContactValue}, closed_at = coalesce(c.closed_at, now())
    from (select id from conversations
          where account_id = ${accountId} and contact_type = ${contact.type} and contact_value = ${contact.value}
          order by id limit ${conversationPageSize} for no key update) theirs
    where c.id = theirs.id`)
  if (rowCount === conversationPageSize) await eraseConversations(db, { accountId, contact })
}

function idArray(requestIds: readonly string[]): SQL {
  return sql`${sql.param(requestIds)}::uuid[]`
}
