import type { Priority } from '../../src/core/sends/priority.ts'
import type { Database } from '../connection/client.ts'
import { prepared, sqlText } from '../statement.ts'

/** What sends cost, by currency, as decimal numbers. Currencies are never converted. */
export type CostByCurrency = Record<string, string>

interface GroupCost {
  day: string | null
  month: string | null
  channelId: string | null
  priority: Priority | null
  cost: CostByCurrency
}

const costStatement = prepared<GroupCost>(
  'read_usage_costs',
  'Sums what the sends of an account cost that were accepted on some days.',
  sqlText`
    -- $1: the account; $2: the first day; $3: the day after the last; $4: whether by day; $5: by month; $6: by channel;
    -- $7: by priority.
    with
    -- The sums, and the changes since.
    counted as (
      select day, channel_id, priority, currency, amount
      from usage_costs
      where account_id = $1 and day >= $2::date and day < $3::date
      union all
      select (hour at time zone 'UTC')::date, channel_id, priority, currency, amount
      from send_count_changes
      where currency is not null and account_id = $1
        and hour >= $2::date::timestamp at time zone 'UTC' and hour < $3::date::timestamp at time zone 'UTC'),
    -- By group and currency.
    grouped as (
      select case when $4::boolean then day end as by_day,
             case when $5::boolean then date_trunc('month', day)::date end as by_month,
             case when $6::boolean then channel_id end as of_channel,
             case when $7::boolean then priority end as by_priority, currency, sum(amount) as amount
      from counted
      group by 1, 2, 3, 4, 5 having sum(amount) <> 0)
    select to_char(by_day, 'YYYY-MM-DD') as day, to_char(by_month, 'YYYY-MM') as month, of_channel as "channelId",
           by_priority as priority, json_object_agg(currency, trim_scale(amount)::text order by currency) as cost
    from grouped
    group by by_day, by_month, of_channel, by_priority`,
)

const keyOf = ({ day, month, channelId, priority }: Omit<GroupCost, 'cost'>) =>
  JSON.stringify([day, month, channelId, priority])

/** The costs of each group of sends, empty where no provider has said any. @param values of read_usage. */
export async function readCosts(
  db: Database,
  values: unknown[],
): Promise<(group: Omit<GroupCost, 'cost'>) => CostByCurrency> {
  const costs = new Map((await costStatement(db, values)).map((row) => [keyOf(row), row.cost]))
  return (group) => costs.get(keyOf(group)) ?? {}
}
