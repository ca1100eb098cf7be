import { postedChannel } from '../accounts/posted-channel.ts'
import { sqlText } from '../statement.ts'

/*
 * How sends are counted (docs/decisions/0052-counters.md): `counted_as` of a row says what its send is counted as now, and each
 * statement that changes it appends what that changes in the counters. A trigger does it for statements that don't know the column.
 * The rule is the function `counted_as` of migration 0026.
 */

/** The columns of a change of the counters. */
export const countersOf = 'account_id, channel_id, hour, priority, counted_as, change'

/** Any time zone would do in which hours begin when they begin in UTC. */
export const hourOf = (moment: string) => `date_trunc('hour', ${moment}, 'UTC')`

/** SQL of CTEs that count accepted sends. @param recorded a relation of them. */
export const countAccepts = (recorded: string) => sqlText`
  -- The counters.
  counted_accepts as (
    insert into send_count_changes (${countersOf}, segments)
    select account_id, channel_id, ${hourOf('accepted_at')}, priority, 'accepted', count(*),
           coalesce(sum(segments), 0)
    from ${recorded} group by 1, 2, 3, 4)`

/** SQL of a CTE that counts the other segments of a send. @param before, after relations of its row. */
export const countResized = (before: string, after: string) => sqlText`
  -- The counter of its segments.
  counted_segments as (
    insert into send_count_changes (${countersOf}, segments)
    select a.account_id, a.channel_id, ${hourOf('a.accepted_at')}, a.priority, 'accepted', 0,
           coalesce(a.segments, 0) - coalesce(b.segments, 0)
    from ${after} a join ${before} b on b.request_id = a.request_id
    where a.segments is distinct from b.segments)`

/** SQL of columns of sends `s` that were changed, for `countChanges`. A send counts for the channel of its request. @param before SQL of what each was counted as before. */
export const countedColumns = (before: string) => sqlText`
  s.account_id, ${postedChannel} as counted_channel,
  s.accepted_at, s.priority as counted_priority, s.counted_as, ${before} as counted_before`

/** SQL of a CTE that counts the changed sends of `written`. The waiting are those that have not ended. */
export const countChanges = sqlText`
  -- The counters.
  counted_changes as (
    insert into send_count_changes (${countersOf})
    select w.account_id, w.counted_channel, ${hourOf('w.accepted_at')},
           w.counted_priority, e.counted_as, sum(e.change)
    from written w cross join lateral (values (w.counted_as, 1), (w.counted_before, -1)) e (counted_as, change)
    where w.counted_as <> w.counted_before and e.counted_as <> 'waiting'
    group by 1, 2, 3, 4, 5)`
