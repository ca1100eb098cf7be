import { NIL } from 'uuid'
import { type Database, inTransaction } from '../connection/client.ts'
import { prepared, sqlList, sqlText } from '../statement.ts'

/** The columns of counters, except `accepted`: what sends are counted as. */
export const countedStates = [
  'sent',
  'delivered',
  'read',
  'undelivered',
  'failed',
  'uncertain',
  'canceled',
] as const
export const counters = ['accepted', ...countedStates] as const

/** Stands for all channels. */
export const allChannels = `'${NIL}'`

/** SQL of the parts of a column `counted_as`. */
export const partsOf = (countedAs: string) => ({
  state: `split_part(${countedAs}, '/', 1)`,
  reason: `split_part(${countedAs}, '/', 2)`,
  code: `coalesce(substring(${countedAs} from '^[^/]*/[^/]*/(.*)$'), '')`,
})

/** SQL of the states that have reasons and codes. */
export const withReasons = `('failed', 'uncertain', 'undelivered')`

const parts = partsOf('counted_as')
const names = sqlList(counters)
const sums = counters.map((name) => `coalesce(sum(change) filter (where state = '${name}'), 0)`).join(',\n')
const added = counters.map((name) => `${name} = c.${name} + excluded.${name}`).join(',\n')

/** Any number that no other program uses for an advisory lock in this database. */
const folderLock = 7_091_500_213

const lockStatement = prepared<{ isFree: boolean }>(
  'lock_counters',
  'Lets one process at a time add changes to the counters.',
  sqlText`
    select pg_try_advisory_xact_lock(${folderLock}) as "isFree"`,
)

const foldStatement = prepared<{ folded: number }>(
  'fold_counts',
  'Adds a page of the changes that statements have appended to the counters.',
  sqlText`
    with
    -- The changes, which leave their table.
    taken as (
      delete from send_count_changes
      where ctid = any(array(select ctid from send_count_changes limit $1))
      returning hour, channel_id, account_id, counted_as, change),
    -- Each for its channel, and for all.
    changes as materialized (
      select hour, whose.channel_id, whose.account_id,
             ${parts.state} as state,
             ${parts.reason} as reason,
             ${parts.code} as code, change
      from taken cross join lateral (values
        (taken.channel_id, taken.account_id),
        (${allChannels}::uuid, ${allChannels}::uuid)
      ) whose (channel_id, account_id)),
    -- By state.
    by_state as (
      insert into send_counts as c (
        hour, channel_id, account_id, ${names})
      select hour, channel_id, account_id,
             ${sums}
      from changes group by hour, channel_id, account_id
      on conflict (hour, channel_id) do update set
        ${added}),
    -- By reason and code.
    by_reason as (
      insert into failure_counts as c (hour, channel_id, account_id, state, reason, code, sends)
      select hour, channel_id, account_id, state, reason, code, sum(change)
      from changes where state in ${withReasons}
      group by hour, channel_id, account_id, state, reason, code
      on conflict (hour, channel_id, state, reason, code) do update set sends = c.sends + excluded.sends)
    select count(*)::int as folded from taken`,
)

/**
 * Adds changes to the counters, at most `limit`. One process at a time: others would wait for the rows of the present hour.
 *
 * @returns how many were added.
 */
export async function foldCounts(db: Database, limit: number): Promise<number> {
  return await inTransaction(db, async (transaction) => {
    const [lock] = await lockStatement(transaction, [])
    return lock?.isFree ? ((await foldStatement(transaction, [limit]))[0]?.folded ?? 0) : 0
  })
}
