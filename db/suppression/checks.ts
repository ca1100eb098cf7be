import { moveGivenSends } from '../admission/scheduled-sends.ts'
import { isSuppressed, isSuppressedEverywhere } from '../claim-rule.ts'
import { type Database, inTransaction, type Transaction } from '../connection/client.ts'
import { folded, isContact } from '../delivery/contact-rule.ts'
import type { FailedSend } from '../delivery/fail-queued.ts'
import { prepared, sqlText } from '../statement.ts'
import { failSuppressed } from './fail-suppressed.ts'

/*
 * A claim fails a suppressed send by itself. Sends that no worker is about to claim, because their channel is held, or they wait
 * for a retry or their time, are failed by checks: each names a contact, or an account, whose waiting sends are compared with its
 * entries. A new entry adds one; so does what lets sends of a suppressed contact wait again.
 */

/** A check is repeated after this long: by then all statements that didn't see the entry have ended. */
const repeatAfterSeconds = 30
/** While a send of the contact is being sent, which may be tried again. */
const againAfterSeconds = 1
const maxChecks = 100
const maxSends = 1000

interface Checks {
  ids: string[] | null
}

const dueStatement = prepared<Checks>(
  'due_suppression_checks',
  'Locks checks that are due: of contacts, or one of an account, whose sends may be many.',
  sqlText`
    -- $1: whether of an account.
    select array_agg(id) as ids from (
      select id from suppression_checks
      where due_at <= now() and (contact_value is null) = $1
      order by due_at limit case when $1 then 1 else ${maxChecks} end
      for update skip locked) due`,
)

async function dueIds(transaction: Transaction, of: 'contact' | 'account'): Promise<string[] | undefined> {
  return (await dueStatement(transaction, [of === 'account']))[0]?.ids ?? undefined
}

type Waiting = 'queued' | 'sending' | 'scheduled'

interface SuppressedSend {
  requestId: string
  status: Waiting
  channelId: string
  /** The channel's provider; null unless it has a fallback. */
  fallsBackFrom: string | null
}

/** SQL of the checks $1. The list is hidden from the planner, see `isGiven`. */
const chosen = sqlText`
  (select account_id, ${folded('contact_value')} as contact_value from suppression_checks
   where id = any((select $1::bigint[])::bigint[]))`

/** Each contact by the index of contacts, each account by its channels. Without `offset 0`, PostgreSQL might use other indexes. */
const findStatement = prepared<SuppressedSend>(
  'suppressed_sends',
  'Finds the waiting sends of suppressed contacts.',
  sqlText`
    -- $1: the checks; $2: the key of the hashes of erased contacts.
    with
    -- The checks.
    chosen as materialized (
      ${chosen}),
    -- Sends that have not ended, of contacts.
    of_contacts as (
      select s.request_id, s.status, s.account_id, s.channel_id, s.contact_value
      from chosen c cross join lateral (
        select * from sends
        where ${isContact('sends.contact_value', 'c.contact_value')} offset 0) s
      where c.contact_value is not null and s.account_id = c.account_id and s.finished_at is null),
    -- Whole accounts likewise.
    of_accounts as (
      select s.request_id, s.status, s.account_id, s.channel_id, s.contact_value
      from (select distinct account_id from chosen where contact_value is null) c
        join channels on channels.account_id = c.account_id
        cross join lateral (
          select * from sends where sends.channel_id = channels.id and sends.finished_at is null offset 0) s),
    -- Scheduled ones.
    scheduled as (
      select s.request_id, 'scheduled', s.account_id, s.channel_id, s.contact_value
      from chosen c cross join lateral (
        select * from scheduled_sends
        where ${isContact('scheduled_sends.contact_value', 'c.contact_value')}
        offset 0) s
      where c.contact_value is not null and s.account_id = c.account_id
      union all
      select s.request_id, 'scheduled', s.account_id, s.channel_id, s.contact_value
      from (select distinct account_id from chosen where contact_value is null) c cross join lateral (
        select * from scheduled_sends where scheduled_sends.account_id = c.account_id offset 0) s)
    select s.request_id as "requestId", s.status, s.channel_id as "channelId",
           (select provider from channels
            where id = s.channel_id and fallback_channel_id is not null) as "fallsBackFrom"
    from (select * from of_contacts union all select * from of_accounts union all select * from scheduled) s
    where ${isSuppressed('$2::bytea')}
      -- One that could fall back is sent at its time, not before it: its claim fails it then.
      and (s.status <> 'scheduled'
           or not exists (select from channels c where c.id = s.channel_id and c.fallback_channel_id is not null)
           or ${isSuppressedEverywhere('$2::bytea')})
    limit ${maxSends}`,
)

const isRepeated = `($2::boolean or $3::boolean or created_at > now() - interval '${repeatAfterSeconds} s')`

const endStatement = prepared(
  'end_suppression_checks',
  'Removes checks, or puts them off.',
  sqlText`
    -- $1: the checks; $2: whether some of their sends are being sent; $3: whether there may be more.
    with
    -- Checks that are repeated.
    repeated as (
      update suppression_checks
      set due_at = case when $3 then due_at
                        when $2 then now() + interval '${againAfterSeconds} s'
                        else created_at + interval '${repeatAfterSeconds} s' end
      where id = any($1::bigint[]) and ${isRepeated})
    delete from suppression_checks
    where id = any($1::bigint[]) and not ${isRepeated}`,
)

/** The failed sends of a pass, and whether there may be more to do at once. */
interface CheckPass {
  failed: (FailedSend & Pick<SuppressedSend, 'channelId' | 'fallsBackFrom'>)[]
  isMore: boolean
}

/** Compares the waiting sends of some checks with the suppressions, and fails those that are suppressed. */
export async function runSuppressionChecks(
  db: Database | Transaction,
  suppressionKey: Buffer,
): Promise<CheckPass> {
  return await inTransaction(db, async (transaction) => {
    // One of an account that takes too long is not to stop those of contacts.
    const due = (await dueIds(transaction, 'contact')) ?? (await dueIds(transaction, 'account'))
    if (!due) return { failed: [], isMore: false }
    const found = await findStatement(transaction, [due, suppressionKey])
    const scheduled = found.filter(({ status }) => status === 'scheduled').map(({ requestId }) => requestId)
    if (scheduled.length > 0) await moveGivenSends(transaction, scheduled)
    const waiting = new Map(
      found.filter(({ status }) => status !== 'sending').map((send) => [send.requestId, send]),
    )
    const ids = [...waiting.keys()]
    const failed = ids.length > 0 ? await failSuppressed(transaction, ids, suppressionKey) : []
    // Sends that another statement has locked are looked at again.
    const isInFlight = failed.length < found.length
    const isMore = found.length === maxSends && failed.length > 0
    await endStatement(transaction, [due, isInFlight, isMore])
    return { failed: failed.flatMap((row) => withChannel(row, waiting.get(row.requestId))), isMore: true }
  })
}

const withChannel = (row: FailedSend, send: SuppressedSend | undefined) =>
  send ? [{ ...row, channelId: send.channelId, fallsBackFrom: send.fallsBackFrom }] : []
