import { maxCountedAhead, maxCountedMoreUrgent, type SendFacts } from '../../src/core/explanation/explain.ts'
import type { SendRecord, SendStatus, StoredEvent } from '../../src/core/sends/timeline.ts'
import { meaningOfAnswer } from '../../src/providers/meaning-of-answer.ts'
import { ownExpiry } from '../admission/new-send.ts'
import { isReady } from '../claim-rule.ts'
import type { Database } from '../connection/client.ts'
import { isUnfinished } from '../delivery/lane-rule.ts'
import { eachPriority } from '../delivery/priority-rule.ts'
import { prepared, sqlText } from '../statement.ts'
import { findSend } from './sends.ts'
import { reasonNow, waitFor } from './wait-now.ts'

interface FactsRow {
  now: Date
  nextAttemptAt: Date
  isScheduled: boolean
  expiresAt: Date | null
  waitsFor: string | null
  waitsUntil: Date | null
  countAhead: number
  firstAhead: { requestId: string; status: SendStatus } | null
  moreUrgent: number
  behind: string | null
  behindUntil: Date | null
  channelId: string
  provider: string
  name: string
  heldAt: Date | null
  heldReason: string | null
  breakerOpenUntil: Date | null
  rateCalls: number | null
  rateSeconds: number | null
  maxInFlight: number | null
  hasReceipts: boolean
  deletedAt: Date | null
  channels: SendFacts['channels']
}

const factsStatement = prepared<FactsRow>(
  'send_facts',
  'Reads what a send waits for, or has waited for, for its explanation.',
  sqlText`
    with
    -- The send, scheduled or not.
    asked as (
      select channel_id, priority, former_channels, lane, seq, behind, next_attempt_at, expires_at, false as is_scheduled
      from sends where request_id = $1
      union all
      select channel_id, priority, null, null, null, null, send_at,
        ${ownExpiry}, true
      from scheduled_sends s where request_id = $1),
    -- The reason for which it waits.
    wait as (
      select first.*
      from sends s join channels on channels.id = s.channel_id cross join lateral (
        ${reasonNow}) first
      where s.request_id = $1),
    -- Of each higher priority, the sends of its channel that are due.
    more_urgent as (
      select due.*
      from asked cross join ${eachPriority} cross join lateral (
        select s.request_id from sends s
        where s.channel_id = asked.channel_id and s.priority = each_priority.priority and s.finished_at is null
          and ${isReady()}
        limit ${maxCountedMoreUrgent}) due
      where each_priority.priority < asked.priority)
    select clock_timestamp() as now, s.next_attempt_at as "nextAttemptAt", s.is_scheduled as "isScheduled",
           s.expires_at as "expiresAt",
           wait.name as "waitsFor", wait.until as "waitsUntil",
           ahead.count as "countAhead", ahead.first as "firstAhead",
           (select count(*)::int from more_urgent) as "moreUrgent",
           s.behind, (select finished_at from sends earlier where earlier.request_id = s.behind) as "behindUntil",
           c.id as "channelId", c.provider, c.name, c.held_at as "heldAt", c.held_reason as "heldReason",
           c.breaker_open_until as "breakerOpenUntil", c.rate_calls as "rateCalls", c.rate_seconds as "rateSeconds",
           c.max_in_flight as "maxInFlight", c.expects_receipts or c.receipt_at is not null as "hasReceipts",
           c.deleted_at as "deletedAt",
           (select json_agg(json_build_object('channelId', one.id, 'name', one.name, 'provider', one.provider)
                            order by had.place)
            from unnest(s.former_channels || c.id) with ordinality had (id, place)
              join channels one on one.id = had.id) as channels
    from asked s join channels c on c.id = s.channel_id
      left join wait on true
      cross join lateral (
        select count(*)::int as count,
               (array_agg(json_build_object('requestId', request_id, 'status', status) order by seq))[1] as first
        from (select request_id, status, seq from sends earlier
              where earlier.lane = s.lane and earlier.seq < s.seq and ${isUnfinished('earlier')}
              order by seq limit ${maxCountedAhead}) earlier) ahead`,
)

/** All facts for the explanation of a send: its row, its events, and what it waits for or has waited for. */
export async function findExplanation(
  db: Database,
  requestId: string,
): Promise<{ send: SendRecord; events: StoredEvent[]; facts: SendFacts } | undefined> {
  const found = await findSend(db, requestId)
  if (!found) return undefined
  const [row] = await factsStatement(db, [requestId])
  return row && { ...found, facts: factsOf(row) }
}

function factsOf(row: FactsRow): SendFacts {
  const {
    now,
    nextAttemptAt,
    isScheduled,
    expiresAt,
    countAhead,
    firstAhead,
    behind,
    behindUntil,
    rateCalls,
    rateSeconds,
  } = row
  const {
    channelId,
    provider,
    name,
    heldAt,
    heldReason,
    breakerOpenUntil,
    maxInFlight,
    hasReceipts,
    deletedAt,
  } = row
  const rate = rateCalls !== null && rateSeconds !== null ? { calls: rateCalls, seconds: rateSeconds } : null
  return {
    now,
    nextAttemptAt,
    isScheduled,
    expiresAt,
    ahead: firstAhead && { count: countAhead, first: firstAhead },
    moreUrgent: row.moreUrgent,
    wait: waitFor(row.waitsFor, row.waitsUntil),
    waitedFor: behind === null ? null : { requestId: behind, finishedAt: behindUntil },
    channels: row.channels,
    meaningOf: meaningOfAnswer,
    channel: {
      channelId,
      provider,
      name,
      heldAt,
      heldReason,
      breakerOpenUntil,
      rate,
      maxInFlight,
      hasReceipts,
      deletedAt,
    },
  }
}
