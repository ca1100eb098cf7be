import type { Database } from './client.ts'
import { prepared } from './statement.ts'

/** The claim is gone from the row then, and with it what would tell its last attempt a second time. */
const expireStatement = prepared<{ requestId: string }>(
  'expire_sends',
  `update sends s
   set status = 'failed', failure = 'expired', finished_at = clock_timestamp(), claimed_at = null, claim_id = null
   from (select request_id from sends
         where finished_at is null and expires_at <= now() and status = 'queued'
         order by request_id
         limit $1
         for no key update skip locked) expired
   where s.request_id = expired.request_id
   returning s.request_id as "requestId"`,
)

/** Fails sends that have waited longer than their channel lets them. */
export async function expireSends(db: Database, limit: number): Promise<string[]> {
  return (await expireStatement(db, [limit])).map(({ requestId }) => requestId)
}
