import type { ProviderName } from '../../src/core/providers/index.ts'
import type { Database } from '../client.ts'
import { hasLimits, isDue, isHeadOfAll, isHeld, isQueued } from '../readiness.ts'
import { prepared, sqlText } from '../statement.ts'

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

const waits = (channels: keyof OldestWaiting) => sqlText`
  coalesce(extract(epoch from clock_timestamp() - min(due_since) filter (where kind = '${channels}'))::float8, 0)`

/**
 * One pass over the unfinished sends, whatever the planner thinks of how many there are: where it last saw the table
 * without any, it would read all of them again for each look at a lane.
 */
const sendsStatement = prepared<Backlog['unfinished'] & OldestWaiting>(
  'backlog_of_sends',
  'Counts the unfinished sends, and how long the oldest have been due, for metrics.',
  sqlText`
    with unfinished as materialized (
      select s.channel_id, s.status, s.next_attempt_at, ${isQueued} and ${isDue()} as is_due,
             ${isHeadOfAll} as is_head
      from sends s where s.finished_at is null),
    of_channel as materialized (
      select channel_id, count(*) filter (where is_due) as due, count(*) filter (where status = 'sending') as sending,
             count(*) filter (where status = 'queued' and not is_due) as later,
             min(next_attempt_at) filter (where is_due and is_head) as due_since
      from unfinished group by channel_id),
    of_kind as (
      select of_channel.*,
             case when ${isHeld} or channels.breaker_open_until is not null then 'stopped'
                  when ${hasLimits()} then 'limited' else 'free' end as kind
      from of_channel join channels on channels.id = of_channel.channel_id)
    select coalesce(sum(due), 0)::int as due, coalesce(sum(later), 0)::int as later,
           coalesce(sum(sending), 0)::int as sending,
           ${waits('free')} as free, ${waits('limited')} as limited, ${waits('stopped')} as stopped
    from of_kind`,
)

const channelsStatement = prepared<ChannelStates>(
  'channel_states',
  'Counts held channels and open circuit breakers by provider, for metrics.',
  sqlText`
    select provider, count(*) filter (where held_at is not null)::int as held,
           count(*) filter (where breaker_open_until > clock_timestamp())::int as "breakersOpen",
           count(*) filter (where breaker_open_until <= clock_timestamp())::int as "breakersHalfOpen"
    from channels where deleted_at is null group by provider`,
)

const workersStatement = prepared<{ count: number }>(
  'workers_alive',
  'Counts the workers whose lease holds, for metrics.',
  'select count(*)::int as count from workers where alive_until > clock_timestamp()',
)

export async function readBacklog(db: Database): Promise<Backlog> {
  const [[sends], channels, [workers]] = await Promise.all([
    sendsStatement(db, []),
    channelsStatement(db, []),
    workersStatement(db, []),
  ])
  const { due = 0, later = 0, sending = 0, free = 0, limited = 0, stopped = 0 } = sends ?? {}
  return {
    unfinished: { due, later, sending },
    oldestWaiting: { free, limited, stopped },
    channels,
    workers: workers?.count ?? 0,
  }
}
