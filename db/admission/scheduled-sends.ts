import { type Database, inTransaction, type Transaction } from '../connection/client.ts'
import { isGiven, prepared, sqlText } from '../statement.ts'
import { ordered, returned, used } from './accept-parts.ts'
import type { RecordedSend } from './accepts.ts'
import { columnNames, columnValues, fieldsOfScheduled } from './new-send.ts'

/** Any number that no other program uses for an advisory lock in this database. */
const moverLock = 7_091_500_212

/**
 * SQL that moves scheduled sends to `sends`, as if they were accepted now: into their lanes, with their accounts' quotas and the
 * present settings of their channels. Triggers count a scheduled send until it leaves its table, and then like one accepted now.
 *
 * @param chosen SQL of rows of scheduled sends, locked.
 */
const moving = (chosen: string) => sqlText`
  with
  -- The scheduled sends to move, locked.
  chosen as materialized (
    ${chosen}),
  -- They leave their table.
  removed as (
    delete from scheduled_sends where request_id = any(array(select request_id from chosen))),
  -- As an accept gives them, in the order of their times.
  given as materialized (
    select ${fieldsOfScheduled},
           row_number() over (order by s.send_at, s.seq) as ordinality
    from chosen s join channels on channels.id = s.channel_id),
  ${used},
  ${ordered('given')}
  insert into sends (
    ${columnNames}, accepted_at)
  select
    ${columnValues}, "acceptedAt"
  from ordered
  order by ordinality
  returning ${returned}`

const lockStatement = prepared<{ isFree: boolean }>(
  'lock_moving',
  'Lets one process at a time move scheduled sends.',
  sqlText`
    select pg_try_advisory_xact_lock(${moverLock}) as "isFree"`,
)

/** A send that is being canceled is skipped. `now()` isn't later than the clock, and finds due sends by the index. */
const moveDueStatement = prepared<RecordedSend>(
  'move_due_sends',
  'Moves a page of scheduled sends whose time has come to the others.',
  moving(sqlText`
    select * from scheduled_sends
    where send_at <= now()
    order by send_at, seq limit $1
    for update skip locked`),
)

/**
 * Moves scheduled sends whose time has come, at most `limit`, and returns them. One process at a time: two could give the later of
 * two sends to a contact the earlier place. The lock is a statement of its own, so that the next one sees all that was moved
 * before.
 */
export async function moveDueSends(db: Database, limit: number): Promise<RecordedSend[]> {
  return await inTransaction(db, async (transaction) => {
    const [lock] = await lockStatement(transaction, [])
    return lock?.isFree ? await moveDueStatement(transaction, [limit]) : []
  })
}

const findOfChannelStatement = prepared<{ requestId: string }>(
  'scheduled_of_channel',
  'Finds the scheduled sends of a deleted channel.',
  // By the index of accounts, since no other needs an index of channels.
  sqlText`
    select request_id as "requestId" from scheduled_sends
    where channel_id = $1 and account_id = (select account_id from channels where id = $1 and deleted_at is not null)`,
)

const moveGivenStatement = prepared<RecordedSend>(
  'move_given_sends',
  'Moves given scheduled sends to the others, where they fail.',
  moving(sqlText`
    select * from scheduled_sends
    where ${isGiven('request_id')}
    for update skip locked`),
)

/** Moves scheduled sends to the others before their time, so that they can fail. */
export async function moveGivenSends(
  db: Database | Transaction,
  requestIds: readonly string[],
): Promise<void> {
  await moveGivenStatement(db, [requestIds])
}

/** Moves the scheduled sends of a deleted channel to the others, where they fail, so many at a time. */
export async function moveSendsOfDeleted(
  db: Database | Transaction,
  channelId: string,
  pageSize: number,
): Promise<void> {
  const ids = (await findOfChannelStatement(db, [channelId])).map(({ requestId }) => requestId)
  for (let first = 0; first < ids.length; first += pageSize)
    await moveGivenSends(db, ids.slice(first, first + pageSize))
}

const nextDueStatement = prepared<{ inMs: number }>(
  'next_due',
  'Finds when the next scheduled send is due.',
  sqlText`
    select extract(epoch from send_at - clock_timestamp())::float8 * 1000 as "inMs"
    from scheduled_sends order by send_at limit 1`,
)

/** Time until the next scheduled send is due; undefined if there is none. */
export async function nextDueInMs(db: Database): Promise<number | undefined> {
  return (await nextDueStatement(db, []))[0]?.inMs
}
