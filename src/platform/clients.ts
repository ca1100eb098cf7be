import type { Redis } from 'ioredis'
import type { Database } from '../../db/client.ts'
import type { DatabaseClock } from '../../db/clock.ts'
import type { Logger } from './logger.ts'
import type { Metrics } from './metrics.ts'
import type { RedisBreaker } from './redis-breaker.ts'
import type { Settings } from './settings.ts'

/** What every process has: its settings, its log and metrics, and the clients of the two stores. */
export interface Clients<Needed = Settings> {
  settings: Needed
  log: Logger
  metrics: Metrics
  db: Database
  /** What several processes compare, or PostgreSQL does, goes by it. */
  clock: DatabaseClock
  redis: Redis
  /** For what has to answer soon. A worker's waits for a Redis that is away, but not without an end. */
  throughBreaker: RedisBreaker
}
