import type { AutoCause } from '../../src/core/suppression/suppression.ts'
import { namesOfChannels } from '../accounts/channel-names.ts'
import { postedChannel } from '../accounts/posted-channel.ts'
import type { Database } from '../connection/client.ts'
import { prepared, sqlText } from '../statement.ts'
import { acceptableShareOf, isRefusal } from './refusal-rule.ts'

/** So many channels of a provider whose contacts refuse too much of what they get. */
export interface RefusedChannels {
  provider: string
  cause: AutoCause
  channels: number
  /** The names of the first channels. */
  names: string[]
}

/** One contact of a channel that sends little says nothing. */
const leastSends = 100
const leastRefused = 2

const refusedStatement = prepared<RefusedChannels>(
  'channels_often_refused',
  'Counts and names the channels of whose sends of a day too many bounced for good or were complained about, for metrics.',
  sqlText`
    select c.provider, r.cause, count(*)::int as channels,
           ${namesOfChannels()} as names
    from (
      select ${postedChannel} as channel_id, e.cause, count(*) as refused
      from suppressions e join sends s on s.request_id = e.request_id
      where ${isRefusal('e.cause')} and e.created_at > now() - interval '1 day'
      group by 1, 2) r
      join channels c on c.id = r.channel_id
      join accounts a on a.id = c.account_id
      cross join lateral (
        select sum(sent + delivered + read + undelivered + failed) as ended
        from send_counts n
        where n.channel_id = r.channel_id
          and n.hour in (select date_trunc('hour', now(), 'UTC') - ago * interval '1 hour'
                         from generate_series(0, 24) ago)) n
    where r.refused >= ${leastRefused} and n.ended >= ${leastSends}
      and r.refused > n.ended * ${acceptableShareOf('r.cause')}
    group by 1, 2`,
)

/** A channel whose contacts aren't suppressed by themselves isn't looked at: its bounces leave no entry. */
export function countRefusedChannels(db: Database): Promise<RefusedChannels[]> {
  return refusedStatement(db, [])
}
