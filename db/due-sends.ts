import type { WakeUp } from '../src/core/send-job.ts'
import type { Database } from './client.ts'
import { isBehind, laneOf } from './lanes.ts'
import { overflowOf } from './overflow.ts'
import { prepared } from './statement.ts'
import { isLimited, turnInMs } from './turns.ts'

/** Why a send could not be claimed: when it can be, or what it waits for. */
export interface Refusal {
  requestId: string
  /** Until it is due; null where something else than time is in its way, or nothing is left to do. */
  dueInMs: number | null
  /** It has ended, or waits for an earlier send of its lane: then the lane's head is to be looked after. */
  leavesLane: boolean
  /** The limited channel in which it waits for its turn. */
  waitsForTurnOf: string | null
}

const mayGo = `s.status = 'queued' and channels.held_at is null
  and (s.expires_at is null or s.expires_at > clock_timestamp()) and not ${isBehind}`

const refusalsStatement = prepared<Refusal>(
  'refusals',
  `select s.request_id as "requestId",
          s.finished_at is not null or (s.status = 'queued' and ${isBehind}) as "leavesLane",
          case when ${mayGo} then
            ceil(greatest(extract(epoch from s.next_attempt_at - clock_timestamp()) * 1000, turn.in_ms, 0))::float8
          end as "dueInMs",
          case when ${mayGo} and s.next_attempt_at <= clock_timestamp() and turn.is_missing then channels.id
          end as "waitsForTurnOf"
   from sends s join channels on channels.id = s.channel_id
     cross join lateral (select in_ms, ${isLimited} and in_ms is null as is_missing
                         from (select case when ${isLimited} then ${turnInMs} end as in_ms) its) turn
   where s.request_id = any($1)`,
)

/** What keeps sends from being claimed; unknown ones are missing from the answer. */
export function findRefusals(db: Database, requestIds: readonly string[]): Promise<Refusal[]> {
  return refusalsStatement(db, [requestIds])
}

const readyHeadsStatement = prepared<WakeUp>(
  'ready_heads',
  `select distinct s.request_id as "requestId", ${overflowOf('s')} as "overflowOf", turn.in_ms as "inMs"
   from sends asked
     cross join lateral ((${laneOf('asked')} limit 1) union all select asked.* where asked.lane is null) s
     join channels on channels.id = s.channel_id
     cross join lateral (select case when ${isLimited} then ${turnInMs} else 0 end as in_ms) turn
   where asked.request_id = any($1) and s.status = 'queued' and s.next_attempt_at <= clock_timestamp()
     and channels.held_at is null and turn.in_ms is not null`,
)

/** Wake-ups for the heads of the lanes of these sends, where they may go now; a send without a lane is its own head. */
export function findReadyHeads(db: Database, requestIds: readonly string[]): Promise<WakeUp[]> {
  return readyHeadsStatement(db, [requestIds])
}

/** A queued send that is due, where its pass has come to. */
export interface DueSend extends WakeUp {
  channelId: string
  /** As PostgreSQL writes it: a Date would lose its microseconds. */
  dueAt: string
  /** Whether nothing stands before it in its lane. */
  isHead: boolean
}

const dueSendsStatement = prepared<DueSend>(
  'due_sends',
  `select s.request_id as "requestId", ${overflowOf('s')} as "overflowOf", s.channel_id as "channelId",
          s.next_attempt_at::text as "dueAt", not ${isBehind} as "isHead"
   from sends s join channels on channels.id = s.channel_id
   where s.finished_at is null and s.status = 'queued' and channels.held_at is null and not ${isLimited}
     and s.next_attempt_at < now() - $1 * interval '1 ms'
     and ($2::uuid is null or (s.channel_id, s.next_attempt_at, s.request_id) > ($2, $3::timestamptz, $4::uuid))
   order by s.channel_id, s.next_attempt_at, s.request_id
   limit $5`,
)

/**
 * A page of the sends that are queued and overdue, each channel's in the order in which they fell due; none of channels
 * that are held, or limited: there, turns are given.
 */
export function findDueSends(
  db: Database,
  page: { overdueByMs: number; after: DueSend | undefined; limit: number },
): Promise<DueSend[]> {
  const { overdueByMs, after, limit } = page
  const place = [after?.channelId ?? null, after?.dueAt ?? null, after?.requestId ?? null]
  return dueSendsStatement(db, [overdueByMs, ...place, limit])
}
