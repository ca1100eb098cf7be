import { NIL } from 'uuid'
import { type Priority, priorities } from '../../src/core/sends/priority.ts'
import type { WakeUp } from '../../src/core/sends/send-job.ts'
import { overflowOf } from '../admission/quota.ts'
import {
  endsInMs,
  hasLimits,
  headNeedsOnlyTime,
  isBehind,
  isChannelOpen,
  isLimited,
  isReady,
  isWakeable,
  permitInMs,
} from '../claim-rule.ts'
import type { Database } from '../connection/client.ts'
import { isChannelInSlowStart } from '../reasons-to-wait.ts'
import { isGiven, prepared, sqlText } from '../statement.ts'
import { isUnfinished, laneOf } from './lane-rule.ts'
import { hasUnusedPermits } from './permit-states.ts'
import { isOfAnyPriority } from './priority-rule.ts'

const readyHeadsStatement = prepared<WakeUp>(
  'ready_heads',
  'Finds the heads of the lanes of given sends that may be claimed now.',
  sqlText`
    select distinct s.request_id as "requestId", ${overflowOf('s')} as "overflowOf",
           greatest(permit.in_ms, ${endsInMs}) as "inMs"
    from sends asked
      cross join lateral (
        (${laneOf('asked')} limit 1)
        union all
        select asked.* where asked.lane is null) s
      join channels on channels.id = s.channel_id
      cross join lateral (
        select case when ${isLimited}
          then ${permitInMs}
          else 0 end as in_ms) permit
    where ${isGiven('asked.request_id')}
      and ${isReady()}
      and ${headNeedsOnlyTime} and permit.in_ms is not null`,
)

/** Wake-ups for the heads of the lanes of these sends, if they may go now. A send without a lane is its own head. */
export function findReadyHeads(db: Database, requestIds: readonly string[]): Promise<WakeUp[]> {
  return readyHeadsStatement(db, [requestIds])
}

/** A channel with overdue sends that isn't held. */
export interface BusyChannel {
  channelId: string
  /** Whether some of its sends, or all, wait for permits. */
  grantsPermits: boolean
  /** Which of its sends need no permit. */
  permitFree: 'all' | 'ordinary' | 'none'
  /** Whether one of its sends was granted permits, and none was used: wake-ups may not reach the workers. */
  hasUnusedPermits: boolean
}

const isOverdue = isWakeable("now() - $1 * interval '1 ms'")

/** `limit 1` makes PostgreSQL search the channel for one send, instead of reading all waiting ones. */
const hasOverdue = (which = 'true') => sqlText`
  coalesce((
    select true from sends s
    where s.channel_id = channels.id and ${isOfAnyPriority('s')}
      and s.finished_at is null and ${which}
      and ${isOverdue}
    limit 1), false)`

/** SQL of a recursive CTE `waiting`, the channels with sends that have not ended: found one by one, not by reading all their sends. */
export const waitingChannels = sqlText`
  waiting as (
    (select channel_id as id from sends where finished_at is null order by channel_id limit 1)
    union all
    select (select channel_id from sends where finished_at is null and channel_id > waiting.id
            order by channel_id limit 1)
    from waiting where waiting.id is not null)`

const busyChannelsStatement = prepared<BusyChannel>(
  'busy_channels',
  'Lists the channels with overdue sends, except held ones.',
  sqlText`
    with recursive
    -- The channels with sends that have not ended.
    ${waitingChannels},
    -- Those with an overdue send.
    overdue as (
      select channels.* from waiting join channels using (id)
      where ${isChannelOpen} and ${hasOverdue()})
    select id as "channelId",
           ${hasLimits}
             or (${isChannelInSlowStart}
                 and ${hasOverdue('s.overflow')}) as "grantsPermits",
           case when ${hasLimits} then 'none'
                when ${isChannelInSlowStart} then 'ordinary'
                else 'all' end as "permitFree",
           ${hasUnusedPermits(isOverdue, '$2')} as "hasUnusedPermits"
    from overdue channels
    order by id`,
)

/** @param unusedForMs how long a send was granted permits without a claim; longer than any permit is valid. */
export function findBusyChannels(
  db: Database,
  { overdueByMs, unusedForMs }: { overdueByMs: number; unusedForMs: number },
): Promise<BusyChannel[]> {
  return busyChannelsStatement(db, [overdueByMs, unusedForMs])
}

/** A queued send that is overdue. */
export interface DueSend extends WakeUp {
  channelId: string
  priority: Priority
  /** In PostgreSQL's format, because a Date would lose the microseconds. */
  dueAt: string
  /** Whether it is the head of its lane. */
  isHead: boolean
}

const dueSends = (name: string, purpose: string, which: string) =>
  prepared<DueSend>(
    name,
    purpose,
    sqlText`
      -- $1: the channels, each with the send after which its page begins; $2: for how many ms overdue; $3: how many of each.
      select due.*
      from json_to_recordset($1) as asked ("channelId" uuid, priority priority, "dueAt" timestamptz, "requestId" uuid)
      cross join lateral (
        select asked."channelId", s.request_id as "requestId", ${overflowOf('s')} as "overflowOf",
               s.priority, s.next_attempt_at::text as "dueAt", not ${isBehind} as "isHead"
        from sends s join channels on channels.id = s.channel_id
        where s.channel_id = asked."channelId" and ${which}
          and ${isWakeable("now() - $2 * interval '1 ms'")}
          and (s.priority, s.next_attempt_at, s.request_id) > (asked.priority, asked."dueAt", asked."requestId")
        order by s.priority, s.next_attempt_at, s.request_id
        limit $3) due`,
  )

const dueSendsStatements = {
  all: dueSends('due_sends', 'Lists the overdue sends of channels, page by page.', 's.finished_at is null'),
  // Uses the index of the account's quota instead of reading the channel's backlog.
  ordinary: dueSends(
    'due_sends_in_quota',
    'Like due_sends, without the overflow.',
    sqlText`
      ${isUnfinished('s')} and not s.overflow
      and s.account_id = (select account_id from channels where id = asked."channelId")`,
  ),
}

/** A channel, and the start of the page of its overdue sends. */
export interface DueSendsOf {
  channelId: string
  after: DueSend | undefined
}

/** A page of overdue sends of each channel, the most urgent first, else in the order in which they fell due. */
export function findDueSends(
  db: Database,
  which: {
    channels: readonly DueSendsOf[]
    permitFree: 'all' | 'ordinary'
    overdueByMs: number
    limit: number
  },
): Promise<DueSend[]> {
  const { channels, permitFree, overdueByMs, limit } = which
  const asked = channels.map(({ channelId, after }) => ({
    channelId,
    priority: after?.priority ?? priorities[0],
    dueAt: after?.dueAt ?? '-infinity',
    requestId: after?.requestId ?? NIL,
  }))
  return dueSendsStatements[permitFree](db, [JSON.stringify(asked), overdueByMs, limit])
}
