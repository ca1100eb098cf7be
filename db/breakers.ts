import type { Database } from './client.ts'
import { prepared } from './statement.ts'

const firstSeconds = 10
const longestSeconds = 300

const openStatement = prepared<{ openSeconds: number }>(
  'open_breaker',
  `update channels
   set breaker_openings = breaker_openings + 1,
       breaker_open_until = clock_timestamp() +
         least(${longestSeconds}, ${firstSeconds} * 2 ^ least(breaker_openings, 10)) * interval '1 s'
   where id = $1 and (breaker_open_until is null or $2)
   returning extract(epoch from breaker_open_until - clock_timestamp())::float8 as "openSeconds"`,
)

/**
 * Opens a channel's circuit breaker: for 10 seconds, then for twice as long each time, 5 minutes at the most.
 *
 * @param isAgain after a probe; else one that is open already stays as it is.
 * @returns for how many seconds; undefined where it was open already.
 */
export async function openBreaker(
  db: Database,
  { channelId, isAgain }: { channelId: string; isAgain: boolean },
): Promise<number | undefined> {
  const [row] = await openStatement(db, [channelId, isAgain])
  return row?.openSeconds
}

const closeStatement = prepared<{ id: string }>(
  'close_breaker',
  `update channels set breaker_open_until = null, breaker_openings = 0
   where id = $1 and breaker_open_until is not null
   returning id`,
)

/** @returns whether it was open. */
export async function closeBreaker(db: Database, channelId: string): Promise<boolean> {
  return (await closeStatement(db, [channelId])).length === 1
}
