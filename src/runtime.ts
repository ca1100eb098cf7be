import { connectDatabase } from '../db/client.ts'
import { DatabaseClock } from '../db/clock.ts'
import { overflowQueueName, queueName } from './core/send-job.ts'
import type { Clients } from './platform/clients.ts'
import { type Logger, logWarning } from './platform/logger.ts'
import { createMetrics, type ProcessKind } from './platform/metrics.ts'
import { connectForAdmin, connectForRequests, connectForWorkers, timeoutOf } from './platform/redis.ts'
import { createRedisBreaker, createWaitingBreaker } from './platform/redis-breaker.ts'
import type { Settings } from './platform/settings.ts'
import { createQueue, type SendQueues } from './queue/queue.ts'

/** Settings, log, metrics, clients and queues of a process: opened once at its entry point, passed down, closed at its end. */
export interface Runtime<Needed extends StoreSettings = Settings> extends Clients<Needed>, SendQueues {
  close(): Promise<void>
}

/** The parts of the runtime, and the settings, that a step takes. */
export type Needs<Part extends keyof Runtime, Setting extends keyof Settings = never> = Pick<Runtime, Part> &
  ([Setting] extends [never] ? unknown : { settings: Pick<Settings, Setting> })

type StoreSettings = Pick<Settings, 'DATABASE_URL' | 'REDIS_URL' | 'DATABASE_POOL_SIZE'>

const connectRedis = { api: connectForRequests, worker: connectForWorkers, admin: connectForAdmin }
/** Far longer than it takes to replace a connection, and to add the largest batch of wake-ups. */
const workersGiveUpAfterMs = 5000
export const queryTimeoutMs = { api: 1100, worker: 10_000, admin: 8000 }

const setPlansForRole =
  'through this pooler enable_seqscan is on: run migrate as the user of DATABASE_URL, then RECONNECT the pooler'

/** @param kind an API and an admin process give up Redis quickly, a worker waits for it. */
export function openRuntime<Needed extends StoreSettings>(
  kind: ProcessKind,
  settings: Needed,
  log: Logger,
): Runtime<Needed> {
  const metrics = createMetrics(kind)
  const redis = connectRedis[kind](settings.REDIS_URL, log, metrics)
  const queue = createQueue(queueName, redis)
  const overflow = createQueue(overflowQueueName, redis)
  const db = connectDatabase(settings.DATABASE_URL, {
    // A worker's heartbeat has a connection of its own.
    poolSize: kind === 'worker' ? Math.max(1, settings.DATABASE_POOL_SIZE - 1) : settings.DATABASE_POOL_SIZE,
    queryTimeoutMs: queryTimeoutMs[kind],
    onConnectionLost: (error) => logWarning(log, 'database_connection_lost', error),
    onPooler: ({ hasSteadyPlans }) => {
      if (!hasSteadyPlans) log.warn({ event: 'plans_not_steady', reason: setPlansForRole })
    },
  })
  const clock = new DatabaseClock(db, (ms) => metrics.databaseRoundTrip.observe(ms / 1000))
  // An admin process queries PostgreSQL only when a page or a scrape needs it.
  if (kind !== 'admin') clock.start()
  return {
    settings,
    log,
    metrics,
    db,
    clock,
    redis,
    throughBreaker:
      kind === 'worker'
        ? createWaitingBreaker(redis, log, metrics, workersGiveUpAfterMs)
        : createRedisBreaker(log, metrics, timeoutOf(settings.REDIS_URL)),
    queue,
    overflow,
    async close() {
      clock.stop()
      // Before closing the queues, which would wait for Redis if it is down.
      redis.disconnect()
      await queue.close()
      await overflow.close()
      await db.$client.end()
    },
  }
}
