import { and, asc, eq } from 'drizzle-orm'
import { type Contact, foldContactValue } from '../../src/core/contacts/contact.ts'
import { newId } from '../../src/core/requests/new-id.ts'
import type { Database } from '../connection/client.ts'
import { conversations } from '../schema.ts'
import { eventOf } from '../sends/event-sql.ts'
import { isOneOf, prepared, sqlText } from '../statement.ts'
import { contactIs, folded } from './contact-rule.ts'
import { openConversations } from './open-conversations.ts'

/** A send that has to enter a conversation with its contact. */
export interface Entry {
  requestId: string
  /** The claim of the attempt. */
  claimId: string
  accountId: string
  contact: Contact
  closeConversation: boolean
}

export interface Entered {
  requestId: string
  conversationId: string
  /** Null if none was open, or none had to be closed. */
  closedConversationId: string | null
  /**
   * Whether the send still had this claim when it entered. If not, the claim was given up as not called
   * (db/delivery/lost-claims.ts), and the worker must not call: another worker may have the send by now.
   */
  holdsClaim: boolean
}

/**
 * Closes, opens and joins in one statement. An attempt counts as started when its conversation is closed. A send that is already in
 * a conversation stays in it, so the statement can be repeated. The claim is checked under the lock of the send's row, when the
 * send enters, so that the claim is given up either before or after that.
 *
 * Conversations are locked in the order of contacts, so that two batches can't deadlock. Sends that could not enter are missing
 * from the result.
 */
const enterStatement = prepared<Entered>(
  'enter_conversations',
  'Closes, opens and joins the conversations of claimed sends.',
  sqlText`
    with
    -- The given sends, each with an id for a conversation that it may open.
    given as materialized (
      select * from json_to_recordset($1) as e ("requestId" uuid, "claimId" uuid, "newId" uuid)),
    -- Their rows, and whether the claim still holds.
    entries as materialized (
      select s.request_id, s.account_id, s.contact_type,
             ${folded('s.contact_value')} as contact_value,
             s.close_conversation, s.conversation_id,
             given."newId" as new_id, given."claimId", s.claim_id is not distinct from given."claimId" as holds_claim
      from given join sends s on s.request_id = given."requestId"
      where ${isOneOf('s.request_id', 'given')}),
    -- The sends that still have to enter a conversation, with their contact's open ones.
    entering as materialized (
      select e.*, open.ids[1] as open_id,
             case when e.close_conversation then open.ids else open.ids[2:] end as ids_to_close
      from entries e cross join lateral (
        select array_agg(id order by id desc) as ids from (
          ${openConversations({ account: 'e.account_id', type: 'e.contact_type', value: 'e.contact_value' })}) one) open
      where e.conversation_id is null),
    -- The conversations to close, locked: of a contact with several, all but the one that is joined. One that another
    -- transaction closes meanwhile isn't open any more.
    to_close as materialized (
      select c.id, e.request_id
      from entering e join conversations c on c.id = any(e.ids_to_close) and c.closed_at is null
      order by e.account_id, e.contact_type, e.contact_value, c.id
      for no key update of c),
    -- Conversations that are closed here, and by which send.
    closed as (
      update conversations c set closed_at = now(), closed_by = t.request_id
      from to_close t
      where c.id = t.id
      returning c.id, t.request_id),
    -- Conversations that sends asked for, one for each.
    asked_for as (
      select distinct on (request_id) closed.id, request_id
      from closed join entering e using (request_id)
      where e.close_conversation
      order by request_id, closed.id <> e.open_id),
    -- The successors of those that are closed here, which no other transaction can open. If none was open, opening
    -- one may wait for another transaction that does the same. A statement that also closes must not wait like that.
    opened as (
      insert into conversations (id, account_id, contact_type, contact_value, opened_at)
      select new_id, account_id, contact_type, contact_value, now()
      from entering
      where request_id in (select request_id from asked_for)
         or open_id is null and not exists (select from entering where cardinality(ids_to_close) > 0)
      order by account_id, contact_type, contact_value
      on conflict (account_id, contact_type, contact_value) where closed_at is null do nothing
      returning id),
    -- The conversation that each send joins: its own new one, or the open one. Null if it has to wait for the next round.
    entered as (
      select e.*, coalesce(opened.id, case when not e.close_conversation then e.open_id end) as joined_id,
             asked_for.id as closed_id
      from entering e
        left join opened on opened.id = e.new_id
        left join asked_for on asked_for.request_id = e.request_id),
    -- An attempt counts as begun when its conversation is closed.
    joined as (
      update sends s
      set conversation_id = e.joined_id,
          claimed_at = case when e.close_conversation and s.status = 'sending' then now() else s.claimed_at end
      from entered e
      where s.request_id = e.request_id and e.joined_id is not null
      returning s.request_id, s.conversation_id, e.closed_id, s.claim_id is not distinct from e."claimId" as holds_claim),
    -- The timeline of a send says what it closed.
    events as (
      insert into send_events (request_id, at, event, fields)
      select request_id, ${eventOf('now()', 'conversation_closed', { conversationId: 'closed_id' })}
      from entered where close_conversation and joined_id is not null)
    select request_id as "requestId", conversation_id as "conversationId", closed_id as "closedConversationId",
           holds_claim as "holdsClaim"
    from joined
    union all
    -- The sends that had entered one before.
    select e.request_id, e.conversation_id, (
      select (t.fields->>'conversationId')::uuid from send_events t
      where t.request_id = e.request_id and t.event = 'conversation_closed'), e.holds_claim
    from entries e where e.conversation_id is not null`,
)

/** More rounds than contention on one contact can need. */
const maxRounds = 1000

/**
 * Lets sends enter their contacts' conversations: closes the open one if the send asks for it, joins the open one, or opens one.
 * It works in rounds: a send that closes is its contact's only one in a round, and sends that could not enter (see the
 * statement) are in the next one.
 */
export async function enterConversations(db: Database, entries: readonly Entry[]): Promise<Entered[]> {
  const entered = new Map<string, Entered>()
  let waiting = entries
  for (let round = 0; waiting.length > 0 && round < maxRounds; round++) {
    const rows = nextOfEachContact(waiting).map(({ requestId, claimId }) => ({
      requestId,
      claimId,
      newId: newId(),
    }))
    for (const one of await enterStatement(db, [JSON.stringify(rows)])) entered.set(one.requestId, one)
    waiting = waiting.filter(({ requestId }) => !entered.has(requestId))
  }
  if (waiting.length > 0) throw new Error(`${waiting.length} sends found no conversation to enter`)
  return entries.map(({ requestId }) => entered.get(requestId) as Entered)
}

/** The first send of each contact, and the following ones as long as none of them closes. */
function nextOfEachContact(entries: readonly Entry[]): Entry[] {
  const begun = new Map<string, 'joining' | 'over'>()
  return entries.filter(({ accountId, contact, closeConversation }) => {
    const key = `${accountId} ${contact.type} ${foldContactValue(contact.value)}`
    const state = begun.get(key)
    const isNext = state === undefined || (state === 'joining' && !closeConversation)
    begun.set(key, isNext && !closeConversation ? 'joining' : 'over')
    return isNext
  })
}

/** All conversations with a contact, the oldest first. */
export function listConversations(db: Database, accountId: string, contact: Pick<Contact, 'type' | 'value'>) {
  return db
    .select({
      conversationId: conversations.id,
      openedAt: conversations.openedAt,
      closedAt: conversations.closedAt,
      closedBy: conversations.closedBy,
    })
    .from(conversations)
    .where(
      and(
        eq(conversations.accountId, accountId),
        eq(conversations.contactType, contact.type),
        contactIs(contact.value),
      ),
    )
    .orderBy(asc(conversations.openedAt))
}
