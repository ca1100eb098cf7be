import type { Database } from './client.ts'
import { prepared } from './statement.ts'

/** How long until a queued send is due; undefined where it isn't queued, has expired, or its channel is held. */
export async function dueInMs(db: Database, requestId: string): Promise<number | undefined> {
  const [row] = await dueStatement(db, [requestId])
  return row?.dueInMs
}

const dueStatement = prepared<{ dueInMs: number }>(
  'due_in',
  `select ceil(greatest(extract(epoch from next_attempt_at - clock_timestamp()) * 1000, 0))::float8 as "dueInMs"
   from sends join channels on channels.id = sends.channel_id
   where request_id = $1 and status = 'queued' and held_at is null
     and (expires_at is null or expires_at > clock_timestamp())`,
)

/** A queued send, and since when it is due. */
export interface DueSend {
  requestId: string
  /** As PostgreSQL writes it: a Date would lose its microseconds. */
  dueAt: string
}

const dueSendsStatement = prepared<DueSend>(
  'due_sends',
  `select request_id as "requestId", next_attempt_at::text as "dueAt"
   from sends join channels on channels.id = sends.channel_id
   where finished_at is null and status = 'queued' and held_at is null
     and next_attempt_at < now() - $1 * interval '1 ms'
     and ($2::timestamptz is null or (next_attempt_at, request_id) > ($2, $3::uuid))
   order by next_attempt_at, request_id
   limit $4`,
)

/** A page of the sends that are queued and overdue, in the order in which they fell due; none of held channels. */
export function findDueSends(
  db: Database,
  page: { overdueByMs: number; after: DueSend | undefined; limit: number },
): Promise<DueSend[]> {
  const { overdueByMs, after, limit } = page
  return dueSendsStatement(db, [overdueByMs, after?.dueAt ?? null, after?.requestId ?? null, limit])
}
