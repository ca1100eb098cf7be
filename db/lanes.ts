import type { Database } from './client.ts'
import { prepared } from './statement.ts'

/** SQL that is true of a send `s` that has to wait for an earlier one of its lane. */
export const isBehind = `exists (
  select from sends earlier where earlier.lane = s.lane and earlier.seq < s.seq and earlier.finished_at is null)`

const nextInLanesStatement = prepared<{ requestId: string }>(
  'next_in_lanes',
  `select distinct head.request_id as "requestId"
   from sends s cross join lateral (
     select h.request_id, h.channel_id, h.status, h.next_attempt_at from sends h
     where h.lane = s.lane and h.finished_at is null
     order by h.seq limit 1) head
     join channels on channels.id = head.channel_id
   where s.request_id = any($1) and s.lane is not null and head.status = 'queued' and channels.held_at is null
     and head.next_attempt_at <= clock_timestamp()`,
)

/** The heads of the lanes of these sends, where they are queued and due. */
export async function findNextInLanes(db: Database, requestIds: readonly string[]): Promise<string[]> {
  return (await nextInLanesStatement(db, [requestIds])).map(({ requestId }) => requestId)
}
