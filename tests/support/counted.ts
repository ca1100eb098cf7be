import type { ClientBase } from 'pg'
import type { Database } from '../../db/connection/client.ts'
import { countedStates } from '../../db/counters/fold.ts'
import { eventually } from './wait.ts'

/**
 * The counters of each channel and hour, as `CHANNEL HOUR STATE` with how many; 0 is left out. Added up and not yet added up ones
 * together.
 */
export async function countersOf(client: Pick<ClientBase, 'query'>): Promise<Record<string, number>> {
  const states = ['accepted', ...countedStates]
  const { rows } = await client.query<{ name: string; sends: number }>(`
    select concat_ws(' ', channel_id, hour_text, state) as name, sum(sends)::int as sends
    from (
      select channel_id, hour, s.state, s.sends from send_counts cross join lateral (values
        ${states.map((state) => `('${state}', ${state})`)}) s (state, sends)
      where account_id <> '00000000-0000-0000-0000-000000000000'
      union all
      select channel_id, hour, split_part(counted_as, '/', 1), change from send_count_changes) c
      cross join lateral (select to_char(hour at time zone 'utc', 'YYYY-MM-DD HH24') as hour_text) t
    group by channel_id, hour_text, state having sum(sends) <> 0 order by 1`)
  return Object.fromEntries(rows.map(({ name, sends }) => [name, sends]))
}

/** The same, counted from the sends themselves. */
export async function countedSends(client: Pick<ClientBase, 'query'>): Promise<Record<string, number>> {
  const { rows } = await client.query<{ name: string; sends: number }>(`
    with all_sends as (
      select coalesce(former_channels[1], channel_id) as channel_id, accepted_at, status, delivery from sends
      union all
      select channel_id, accepted_at, 'queued', null from scheduled_sends)
    select concat_ws(' ', channel_id, to_char(date_trunc('hour', accepted_at at time zone 'utc'), 'YYYY-MM-DD HH24'), state) as name,
           count(*)::int as sends
    from all_sends cross join lateral (values
      ('accepted'), (case when status in ('queued', 'sending') then null else coalesce(delivery, status) end)) s (state)
    where state is not null
    group by 1 order by 1`)
  return Object.fromEntries(rows.map(({ name, sends }) => [name, sends]))
}

/** How the counters of some channels differ from a count of their sends, at one moment. */
export async function miscountsOf(
  { $client }: Pick<Database, '$client'>,
  channelIds: readonly string[],
): Promise<string[]> {
  // A pool gives up where the machine is busy.
  const client = await eventually('a connection', () => $client.connect().catch(() => undefined))
  try {
    await client.query('begin isolation level repeatable read')
    const [counted, there] = [await countersOf(client), await countedSends(client)]
    await client.query('commit')
    const names = [...new Set([...Object.keys(counted), ...Object.keys(there)])]
    return names
      .filter((name) => channelIds.some((id) => name.startsWith(id)) && counted[name] !== there[name])
      .map((name) => `${name}: ${counted[name] ?? 0} counted, but there are ${there[name] ?? 0}`)
  } finally {
    client.release()
  }
}

/** The usage of each channel and day, as `CHANNEL DAY PRIORITY NAME` with how much; 0 is left out. */
export async function usageOf(client: Pick<ClientBase, 'query'>): Promise<Record<string, number>> {
  const names = ['accepted', ...countedStates, 'segments']
  const { rows } = await client.query<{ name: string; sum: number }>(`
    select concat_ws(' ', channel_id, day, priority, name) as name, sum(number)::int as sum
    from (
      select channel_id, day, priority, n.name, n.number from usage_counts cross join lateral (values
        ${names.map((name) => `('${name}', ${name})`)}) n (name, number)
      union all
      select channel_id, (hour at time zone 'utc')::date, priority, n.name, n.number from send_count_changes cross join lateral (values
        (split_part(counted_as, '/', 1), change), ('segments', segments)) n (name, number)) u
    group by 1 having sum(number) <> 0`)
  return Object.fromEntries(rows.map(({ name, sum }) => [name, sum]))
}

/** The same, counted from the sends themselves. */
export async function usedBySends(client: Pick<ClientBase, 'query'>): Promise<Record<string, number>> {
  const { rows } = await client.query<{ name: string; sum: number }>(`
    with all_sends as (
      select coalesce(former_channels[1], channel_id) as channel_id, accepted_at, status, delivery, segments, priority from sends
      union all
      select channel_id, accepted_at, 'queued', null, segments, priority from scheduled_sends)
    select concat_ws(' ', channel_id, (accepted_at at time zone 'utc')::date, priority, name) as name, sum(number)::int as sum
    from all_sends cross join lateral (values
      ('accepted', 1), ('segments', segments),
      (case when status in ('queued', 'sending') then null else coalesce(delivery, status) end, 1)) n (name, number)
    where name is not null
    group by 1 having sum(number) <> 0`)
  return Object.fromEntries(rows.map(({ name, sum }) => [name, sum]))
}

const amounts = async (client: Pick<ClientBase, 'query'>, rows: string): Promise<Record<string, string>> => {
  const found = await client.query<{ name: string; sum: string }>(`
    select concat_ws(' ', channel_id, day, priority, currency) as name, trim_scale(sum(amount))::text as sum
    from (${rows}) c group by 1 having sum(amount) <> 0`)
  return Object.fromEntries(found.rows.map(({ name, sum }) => [name, sum]))
}

/** What the sends of each channel and day cost, as `CHANNEL DAY PRIORITY CURRENCY` with how much; 0 is left out. */
export const costsOf = (client: Pick<ClientBase, 'query'>) =>
  amounts(
    client,
    `select channel_id, day, priority, currency, amount from usage_costs
     union all
     select channel_id, (hour at time zone 'utc')::date, priority, currency, amount from send_count_changes
     where currency is not null`,
  )

/** The same, from the sends themselves. */
export const spentBySends = (client: Pick<ClientBase, 'query'>) =>
  amounts(
    client,
    `select coalesce(former_channels[1], channel_id) as channel_id, (accepted_at at time zone 'utc')::date as day, priority,
            value->>'currency' as currency, (value->>'amount')::numeric as amount
     from sends cross join jsonb_each(costs)`,
  )
