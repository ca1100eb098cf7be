import { connectionFault, databaseCause } from '../../../db/connection/database-cause.ts'
import { postgresCauses } from '../../core/store-causes.ts'
import type { Clients } from '../clients.ts'
import { Deadline } from '../deadline.ts'
import { checkMigrated } from '../health/migrated.ts'
import { causeFields } from '../log/cause-fields.ts'
import { logWarning } from '../log/logger.ts'
import { readyWithin } from '../redis/redis.ts'
import { versionIssue } from '../redis/server.ts'
import { SettingsError } from '../settings/settings.ts'

/** Through a pooler, the check takes about 20 round trips (db/connection/pooler.ts). If it took longer, the process would start unchecked. */
const waitForDatabaseMs = 5000

/**
 * Opens a first connection to PostgreSQL. If PostgreSQL is down, the process still starts, and logs a warning that names the
 * setting to check.
 *
 * @throws if no connection is possible until an operator changes something (db/connection/database-cause.ts).
 */
export async function checkDatabase(runtime: Pick<Clients, 'db' | 'log'>): Promise<void> {
  try {
    await new Deadline(waitForDatabaseMs, 'PostgreSQL').spend(checkMigrated(runtime))
  } catch (error) {
    if (connectionFault(error) !== undefined) throw error
    logWarning(
      runtime.log,
      'database_away',
      error,
      causeFields(databaseCause(error) ?? postgresCauses.timeout),
    )
  }
}

/** An API that doesn't wait for it would count its first rate limits by itself. */
const waitForRedisMs = 1000

/**
 * Waits for Redis, for a short time: each process also starts without it.
 *
 * @throws SettingsError if Redis is too old.
 */
export async function checkRedis({ shards }: Pick<Clients, 'shards'>): Promise<void> {
  await Promise.all(
    shards.map(async ({ redis }) => {
      await readyWithin(redis, waitForRedisMs)
      if (redis.status !== 'ready') return
      const issue = versionIssue(await redis.info().catch(() => ''))
      if (issue !== undefined) throw new SettingsError(issue)
    }),
  )
}
