import type { Database } from '../../db/connection/client.ts'
import type { DatabaseClock } from '../../db/connection/clock.ts'
import type { DatabaseHealth } from './health/database-health.ts'
import type { Logger } from './log/logger.ts'
import type { Metrics } from './metrics.ts'
import type { RedisShard } from './redis/shard.ts'
import type { Settings } from './settings/settings.ts'

/** Settings, log, metrics and the clients of PostgreSQL and Redis: part of every process's runtime. */
export interface Clients<Needed = Settings> {
  settings: Needed
  log: Logger
  metrics: Metrics
  db: Database
  database: DatabaseHealth
  /** PostgreSQL's clock. Use it for every time that another process or PostgreSQL compares. */
  clock: DatabaseClock
  shards: readonly RedisShard[]
  /** While the number of shards changes: those of before. A worker takes what is left in them, and nothing is added. */
  formerShards: readonly RedisShard[]
}
