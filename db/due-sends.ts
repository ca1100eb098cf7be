import type { Database } from './client.ts'
import { isBehind } from './lanes.ts'
import { prepared } from './statement.ts'

/** Why a send could not be claimed: when it can be, or what it waits for. */
export interface Refusal {
  requestId: string
  /** Until it is due; null where it isn't queued, has expired, its channel is held or it is behind in its lane. */
  dueInMs: number | null
  /** Whether it has ended, or waits for an earlier send of its lane: then the lane's head is to be looked after. */
  leavesLane: boolean
}

const refusalsStatement = prepared<Refusal>(
  'refusals',
  `select s.request_id as "requestId", s.finished_at is not null or (s.status = 'queued' and ${isBehind}) as "leavesLane",
          case when s.status = 'queued' and held_at is null and (expires_at is null or expires_at > clock_timestamp())
                 and not ${isBehind}
               then ceil(greatest(extract(epoch from next_attempt_at - clock_timestamp()) * 1000, 0))::float8
          end as "dueInMs"
   from sends s join channels on channels.id = s.channel_id
   where s.request_id = any($1)`,
)

/** What keeps sends from being claimed; unknown ones are missing from the answer. */
export function findRefusals(db: Database, requestIds: readonly string[]): Promise<Refusal[]> {
  return refusalsStatement(db, [requestIds])
}

/** A queued send, and since when it is due. */
export interface DueSend {
  requestId: string
  /** As PostgreSQL writes it: a Date would lose its microseconds. */
  dueAt: string
}

const dueSendsStatement = prepared<DueSend>(
  'due_sends',
  `select request_id as "requestId", next_attempt_at::text as "dueAt"
   from sends s join channels on channels.id = s.channel_id
   where finished_at is null and status = 'queued' and held_at is null and not ${isBehind}
     and next_attempt_at < now() - $1 * interval '1 ms'
     and ($2::timestamptz is null or (next_attempt_at, request_id) > ($2, $3::uuid))
   order by next_attempt_at, request_id
   limit $4`,
)

/** A page of the sends that are queued and overdue, in the order in which they fell due; only heads of lanes, and none of held channels. */
export function findDueSends(
  db: Database,
  page: { overdueByMs: number; after: DueSend | undefined; limit: number },
): Promise<DueSend[]> {
  const { overdueByMs, after, limit } = page
  return dueSendsStatement(db, [overdueByMs, after?.dueAt ?? null, after?.requestId ?? null, limit])
}
