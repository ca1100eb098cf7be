import type { ProviderName } from '../src/core/providers/index.ts'
import type { Database } from './client.ts'
import { isBehind } from './lanes.ts'
import { prepared } from './statement.ts'

/** What the service as a whole has before it. Read from the indexes of unfinished sends, however many have ended. */
export interface Backlog {
  /** Queued and due, queued for later, sending. */
  unfinished: { due: number; later: number; sending: number }
  oldestWaiting: OldestWaiting
  channels: ChannelStates[]
  /** Workers whose lease holds. */
  workers: number
}

/**
 * How long ago the oldest send fell due that has no earlier one before it, in seconds, 0 where none waits: in channels
 * without limits, in those with limits, and in those that are held or whose circuit breaker is open.
 */
interface OldestWaiting {
  free: number
  limited: number
  stopped: number
}

interface ChannelStates {
  provider: ProviderName
  held: number
  breakersOpen: number
  breakersHalfOpen: number
}

const unfinishedStatement = prepared<Backlog['unfinished']>(
  'unfinished_sends',
  `select count(*) filter (where status = 'queued' and next_attempt_at <= clock_timestamp())::int as due,
          count(*) filter (where status = 'queued' and next_attempt_at > clock_timestamp())::int as later,
          count(*) filter (where status = 'sending')::int as sending
   from sends where finished_at is null`,
)

/** One channel after the other from the index, and of each the first that waits for nothing before it. */
const oldestStatement = prepared<OldestWaiting>(
  'oldest_waiting_sends',
  `with recursive waiting as (
     (select channel_id as id from sends where finished_at is null order by channel_id limit 1)
     union all
     select (select channel_id from sends where finished_at is null and channel_id > waiting.id
             order by channel_id limit 1)
     from waiting where waiting.id is not null),
   oldest as (
     select case when held_at is not null or breaker_open_until is not null then 'stopped'
                 when rate_calls is not null or max_in_flight is not null then 'limited' else 'free' end as channels,
            extract(epoch from clock_timestamp() - first.next_attempt_at)::float8 as seconds
     from waiting join channels using (id) cross join lateral (
       select s.next_attempt_at from sends s
       where s.channel_id = channels.id and s.finished_at is null and s.status = 'queued'
         and s.next_attempt_at <= clock_timestamp() and not ${isBehind}
       order by s.next_attempt_at limit 1) first)
   select coalesce(max(seconds) filter (where channels = 'free'), 0) as free,
          coalesce(max(seconds) filter (where channels = 'limited'), 0) as limited,
          coalesce(max(seconds) filter (where channels = 'stopped'), 0) as stopped
   from oldest`,
)

const channelsStatement = prepared<ChannelStates>(
  'channel_states',
  `select provider, count(*) filter (where held_at is not null)::int as held,
          count(*) filter (where breaker_open_until > clock_timestamp())::int as "breakersOpen",
          count(*) filter (where breaker_open_until <= clock_timestamp())::int as "breakersHalfOpen"
   from channels group by provider`,
)

const workersStatement = prepared<{ count: number }>(
  'workers_alive',
  'select count(*)::int as count from workers where alive_until > clock_timestamp()',
)

export async function readBacklog(db: Database): Promise<Backlog> {
  const [unfinished, oldestWaiting, channels, workers] = await Promise.all([
    unfinishedStatement(db, []),
    oldestStatement(db, []),
    channelsStatement(db, []),
    workersStatement(db, []),
  ])
  return {
    unfinished: unfinished[0] ?? { due: 0, later: 0, sending: 0 },
    oldestWaiting: oldestWaiting[0] ?? { free: 0, limited: 0, stopped: 0 },
    channels,
    workers: workers[0]?.count ?? 0,
  }
}
