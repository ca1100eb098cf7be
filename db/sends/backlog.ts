import type { Priority } from '../../src/core/sends/priority.ts'
import { namesOfChannels } from '../accounts/channel-names.ts'
import { isFirst } from '../callbacks/endpoint-claims.ts'
import { channelWaitsAs, isDue, isHeadOfAll, isQueued, sendWaitsAs, waitLabels } from '../claim-rule.ts'
import type { Database } from '../connection/client.ts'
import { eachPriority } from '../delivery/priority-rule.ts'
import { prepared, sqlText } from '../statement.ts'
import { countRefusedChannels, type RefusedChannels } from '../suppression/refused-shares.ts'

/** The unfinished work of the whole service. Read from the indexes of unfinished sends, so its cost doesn't grow with history. */
export interface Backlog {
  /** Numbers of sends by priority: queued and due, queued for a retry, sending. */
  unfinished: Record<Priority, { due: number; later: number; sending: number }>
  /** The number of sends that wait for the time that they are scheduled for. */
  scheduled: number
  oldestWaiting: OldestWaiting
  channels: ChannelStates[]
  callbacks: CallbackBacklog
  refusedChannels: RefusedChannels[]
  /** Number of workers with a current lease. */
  workers: number
}

/**
 * For how many seconds the oldest due send has been due that waits for no earlier one of its lane; 0 if there is none. Separately
 * by the label of its reason to wait, or `free` (db/reasons-to-wait.ts); and for `scheduled` sends that have not joined the others.
 */
type OldestWaiting = Record<'free' | 'scheduled', number> & Record<string, number>

interface ChannelStates {
  provider: string
  held: number
  breakersOpen: number
  breakersHalfOpen: number
  /** Whose provider should report each message, and has reported none for an hour. */
  withoutReceipts: number
  /** The names of the first channels of each kind. */
  heldNames: string[]
  breakerNames: string[]
  withoutReceiptsNames: string[]
}

interface CallbackBacklog {
  /** Callbacks of enabled endpoints: those that are due, and those that are tried again later. */
  due: number
  later: number
  /** Callbacks of disabled endpoints. */
  disabled: number
  /** For how many seconds the oldest due callback has been due, of endpoints that answer. */
  oldestDue: number
  disabledEndpoints: number
  failingEndpoints: number
}

/** SQL of a JSON object with the oldest wait of each label. */
const oldestWaits = sqlText`
  json_build_object(
    ${['free', ...waitLabels]
      .map(
        (label) => sqlText`
        '${label}', coalesce(extract(epoch from
          clock_timestamp() - min(due_since) filter (where waits_as = '${label}'))::float8, 0)`,
      )
      .join(',\n')})`

/**
 * Reads the unfinished sends in one pass, however many the planner expects. If it last saw the table without unfinished sends, it
 * would otherwise read all of them again for each lane.
 */
const sendsStatement = prepared<Pick<Backlog, 'unfinished' | 'oldestWaiting'>>(
  'backlog_of_sends',
  'Counts the unfinished sends, and how long the oldest have been due, for metrics.',
  sqlText`
    with unfinished as materialized (
      select s.channel_id, s.priority, s.status, s.next_attempt_at,
             ${isQueued} and ${isDue()} as is_due,
             ${isHeadOfAll} as is_head,
             ${sendWaitsAs} as waits_as
      from sends s where s.finished_at is null),
    of_channel as materialized (
      select channel_id, priority, waits_as, count(*) filter (where is_due) as due,
             count(*) filter (where status = 'sending') as sending,
             count(*) filter (where status = 'queued' and not is_due) as later,
             min(next_attempt_at) filter (where is_due and is_head) as due_since
      from unfinished group by channel_id, priority, waits_as),
    labelled as (
      select priority, due, later, sending, due_since,
             coalesce(
               ${channelWaitsAs},
               waits_as,
               'free') as waits_as
      from of_channel join channels on channels.id = of_channel.channel_id)
    select (select json_object_agg(priority, json_build_object('due', due, 'later', later, 'sending', sending))
            from (select each_priority.priority, coalesce(sum(due), 0) as due, coalesce(sum(later), 0) as later,
                         coalesce(sum(sending), 0) as sending
                  from ${eachPriority} left join labelled using (priority)
                  group by each_priority.priority) by_priority) as unfinished,
           ${oldestWaits} as "oldestWaiting"
    from labelled`,
)

/** So many scheduled sends are counted; of more, PostgreSQL's estimate is read. */
const countedScheduled = 10_000

const scheduledStatement = prepared<{ sends: number; overdueSeconds: number }>(
  'backlog_of_scheduled',
  'Counts the scheduled sends, or estimates them if they are many, and how long the first has been due, for metrics.',
  sqlText`
    select case when counted.sends <= ${countedScheduled} then counted.sends
                else greatest(counted.sends, (select reltuples from pg_class
                                              where oid = 'scheduled_sends'::regclass)) end::int as sends,
           coalesce(greatest(0, (
             select extract(epoch from clock_timestamp() - send_at) from scheduled_sends
             order by send_at limit 1)), 0)::float8 as "overdueSeconds"
    from (select count(*) as sends
          from (select from scheduled_sends limit ${countedScheduled + 1}) first) counted`,
)

const hasNoReceipt = sqlText`awaits_receipt_since < clock_timestamp() - interval '1 hour'`

const channelsStatement = prepared<ChannelStates>(
  'channel_states',
  'Counts held channels, open circuit breakers and channels without receipts by provider, and names some, for metrics.',
  sqlText`
    select provider, count(*) filter (where held_at is not null)::int as held,
           count(*) filter (where breaker_open_until > clock_timestamp())::int as "breakersOpen",
           count(*) filter (where breaker_open_until <= clock_timestamp())::int as "breakersHalfOpen",
           count(*) filter (where ${hasNoReceipt})::int as "withoutReceipts",
           ${namesOfChannels('held_at is not null')} as "heldNames",
           ${namesOfChannels('breaker_open_until is not null')} as "breakerNames",
           ${namesOfChannels(hasNoReceipt)} as "withoutReceiptsNames"
    from channels c join accounts a on a.id = c.account_id
    where c.deleted_at is null group by provider`,
)

const callbacksStatement = prepared<Omit<CallbackBacklog, 'disabledEndpoints' | 'failingEndpoints'>>(
  'backlog_of_callbacks',
  'Counts the callbacks that wait, and how long the oldest have been due, for metrics.',
  sqlText`
    select count(*) filter (where e.disabled_at is null and c.next_try_at <= clock_timestamp())::int as due,
           count(*) filter (where e.disabled_at is null and c.next_try_at > clock_timestamp())::int as later,
           count(*) filter (where e.disabled_at is not null)::int as disabled,
           greatest(0, coalesce(extract(epoch from clock_timestamp() - min(c.next_try_at)
             filter (where e.disabled_at is null and e.failing_since is null and ${isFirst}))::float8, 0)) as "oldestDue"
    from callbacks c join endpoints e on e.id = c.endpoint_id
    where c.finished_at is null`,
)

const endpointsStatement = prepared<Pick<CallbackBacklog, 'disabledEndpoints' | 'failingEndpoints'>>(
  'endpoint_states',
  'Counts disabled and failing endpoints, for metrics.',
  sqlText`
    select count(*) filter (where disabled_at is not null)::int as "disabledEndpoints",
           count(*) filter (where disabled_at is null and failing_since is not null)::int as "failingEndpoints"
    from endpoints`,
)

const workersStatement = prepared<{ count: number }>(
  'workers_alive',
  'Counts the workers with a current lease, for metrics.',
  'select count(*)::int as count from workers where alive_until > clock_timestamp()',
)

export async function readBacklog(db: Database): Promise<Backlog> {
  const [[sends], [scheduled], channels, [callbacks], [endpoints], refusedChannels, [workers]] =
    await Promise.all([
      sendsStatement(db, []),
      scheduledStatement(db, []),
      channelsStatement(db, []),
      callbacksStatement(db, []),
      endpointsStatement(db, []),
      countRefusedChannels(db),
      workersStatement(db, []),
    ])
  if (!sends) throw new Error('PostgreSQL answered an aggregate without a row')
  return {
    unfinished: sends.unfinished,
    scheduled: scheduled?.sends ?? 0,
    oldestWaiting: { ...sends.oldestWaiting, scheduled: scheduled?.overdueSeconds ?? 0 },
    channels,
    callbacks: {
      ...(callbacks ?? { due: 0, later: 0, disabled: 0, oldestDue: 0 }),
      ...(endpoints ?? { disabledEndpoints: 0, failingEndpoints: 0 }),
    },
    refusedChannels,
    workers: workers?.count ?? 0,
  }
}
