import type { UsageGroup, UsageSpan } from '../../src/core/accounts/usage-query.ts'
import type { Priority } from '../../src/core/sends/priority.ts'
import type { Database } from '../connection/client.ts'
import { prepared, sqlList, sqlText } from '../statement.ts'
import { counters, partsOf } from './fold.ts'
import { changedColumns } from './read.ts'
import { type CostByCurrency, readCosts } from './usage-costs.ts'

/** The sends of an account that were accepted on some days, by what they are now. Each is a number of sends, but the segments. */
export interface Usage {
  /** Null unless it is by day or by month. */
  day: string | null
  month: string | null
  /** Null unless it is by channel. */
  channelId: string | null
  channelName: string | null
  /** Null unless it is by priority. */
  priority: Priority | null
  accepted: number
  /** The provider accepted the message, whatever it reported of it since. */
  sent: number
  /** Read ones included. */
  delivered: number
  undelivered: number
  failed: number
  uncertain: number
  canceled: number
  /** Of all that were accepted. */
  segments: number
  /** Empty if no provider has said what they cost. */
  cost: CostByCurrency
}

/** The figures, added up from the counters. A send is counted in one counter at a time. */
const figures = {
  accepted: 'accepted',
  sent: 'sent + delivered + read + undelivered',
  delivered: 'delivered + read',
  undelivered: 'undelivered',
  failed: 'failed',
  uncertain: 'uncertain',
  canceled: 'canceled',
  segments: 'segments',
}

const sums = (...columns: string[]) => sqlList(columns.map((column) => `sum(${column}) as ${column}`))

/** A trigger adds the changes of counters to `usage_counts` when they are added up (migration 0040). */
const usageStatement = prepared<Omit<Usage, 'cost'>>(
  'usage',
  'Adds up the sends of an account by day, month and channel.',
  sqlText`
    -- $1: the account; $2: the first day; $3: the day after the last; $4: whether by day; $5: by month; $6: by channel;
    -- $7: by priority.
    with
    -- The counters of the days, and what has changed since they were added up.
    counted as (
      select day, channel_id, priority, segments, ${sqlList(counters)}
      from usage_counts
      where account_id = $1 and day >= $2::date and day < $3::date
      union all
      select (hour at time zone 'UTC')::date, channel_id, priority, segments,
             ${changedColumns.join(',\n')}
      from (select *, ${partsOf('counted_as').state} as state from send_count_changes offset 0) c
      where account_id = $1 and hour >= $2::date::timestamp at time zone 'UTC'
        and hour < $3::date::timestamp at time zone 'UTC'),
    -- By day, channel and priority. Without accepted sends, a change came after the day was removed: it is no usage.
    of_days as (
      select day, channel_id, priority,
             ${sums('segments', ...counters)}
      from counted group by day, channel_id, priority having sum(accepted) > 0),
    -- Each with the group that it is in.
    grouped as (
      select case when $4::boolean then day end as by_day,
             case when $5::boolean then date_trunc('month', day)::date end as by_month,
             case when $6::boolean then channel_id end as of_channel,
             case when $7::boolean then priority end as by_priority, of_days.*
      from of_days)
    select to_char(by_day, 'YYYY-MM-DD') as day, to_char(by_month, 'YYYY-MM') as month, of_channel as "channelId",
           (select name from channels where id = of_channel) as "channelName", by_priority as priority,
           ${Object.entries(figures)
             .map(([name, figure]) => `sum(${figure})::float8 as ${name}`)
             .join(',\n')}
    from grouped
    group by by_day, by_month, of_channel, by_priority
    order by by_day, by_month, "channelName", of_channel, by_priority`,
)

/** The usage of an account in whole days, a row for each group that has sends; one row if it isn't divided. */
export async function readUsage(
  db: Database,
  accountId: string,
  { from, to, groupBy }: UsageSpan & { groupBy: readonly UsageGroup[] },
): Promise<Usage[]> {
  const by = (group: UsageGroup) => groupBy.includes(group)
  const groups = [by('day'), by('month'), by('channel'), by('priority')]
  const values = [accountId, from, to, ...groups]
  const rows = await usageStatement(db, values)
  const costOf = await readCosts(db, values)
  return (rows.length > 0 || groupBy.length > 0 ? rows : [noUsage]).map((row) => ({
    ...row,
    cost: costOf(row),
  }))
}

/** Of a span without sends. */
export const noUsage: Omit<Usage, 'cost'> = {
  ...{ day: null, month: null, channelId: null, channelName: null, priority: null },
  ...{
    accepted: 0,
    sent: 0,
    delivered: 0,
    undelivered: 0,
    failed: 0,
    uncertain: 0,
    canceled: 0,
    segments: 0,
  },
}
