import type { StoryFacts } from '../src/core/story.ts'
import type { SendRecord, StoredEvent } from '../src/core/timeline.ts'
import type { Database } from './client.ts'
import { findSend } from './sends.ts'
import { prepared } from './statement.ts'

const factsStatement = prepared<StoryFacts & { ahead: { count: number } | null }>(
  'story_facts',
  `select clock_timestamp() as now, s.next_attempt_at as "nextAttemptAt", s.expires_at as "expiresAt",
          null as ahead, null as "waitedFor",
          json_build_object('provider', c.provider, 'name', c.name, 'heldReason', c.held_reason,
            'rate', case when c.rate_calls is not null then
              json_build_object('calls', c.rate_calls, 'seconds', c.rate_seconds) end,
            'maxInFlight', c.max_in_flight) as channel
   from sends s join channels c on c.id = s.channel_id
   where s.request_id = $1`,
)

/** All that is told of a send: its row, its events, and what it waits for at this moment. */
export async function findStory(
  db: Database,
  requestId: string,
): Promise<{ send: SendRecord; events: StoredEvent[]; facts: StoryFacts } | undefined> {
  const found = await findSend(db, requestId)
  if (!found) return undefined
  const [facts] = await factsStatement(db, [requestId])
  return facts && { ...found, facts }
}
