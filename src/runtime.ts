import { connectDatabase } from '../db/connection/client.ts'
import { DatabaseClock } from '../db/connection/clock.ts'
import type { Clients } from './platform/clients.ts'
import { DatabaseHealth } from './platform/health/database-health.ts'
import { type Logger, logWarning } from './platform/log/logger.ts'
import { createMetrics, type ProcessKind } from './platform/metrics.ts'
import type { Settings } from './platform/settings/settings.ts'
import { warnOfOpenStores } from './platform/settings/store-protection.ts'
import { closeShards, openShards, type Shard } from './queue/shard.ts'

/** Settings, log, metrics, clients and shards of a process: opened once at its entry point, passed down, closed at its end. */
export interface Runtime<Needed extends StoreSettings = Settings> extends Clients<Needed> {
  shards: readonly Shard[]
  formerShards: readonly Shard[]
  close(): Promise<void>
}

/** The parts of the runtime, and the settings, that a step takes. */
export type Needs<Part extends keyof Runtime, Setting extends keyof Settings = never> = Pick<Runtime, Part> &
  ([Setting] extends [never] ? unknown : { settings: Pick<Settings, Setting> })

type StoreSettings = Pick<
  Settings,
  | 'DATABASE_URL'
  | 'DATABASE_REQUIRE_TLS'
  | 'REDIS_URL'
  | 'REDIS_REQUIRE_TLS'
  | 'QUEUE_SHARDS'
  | 'QUEUE_SHARDS_PREVIOUS'
  | 'DATABASE_POOL_SIZE'
>

export const queryTimeoutMs = { api: 1100, worker: 10_000, admin: 8000 }

const setPlansForRole =
  'through this pooler enable_seqscan or jit is on: run migrate as the user of DATABASE_URL, then RECONNECT the pooler'

export function openRuntime<Needed extends StoreSettings>(
  kind: ProcessKind,
  settings: Needed,
  log: Logger,
): Runtime<Needed> {
  warnOfOpenStores(log, settings)
  const metrics = createMetrics(kind)
  const opening = { kind, address: settings.REDIS_URL, log, metrics }
  const shards = openShards(opening, settings.QUEUE_SHARDS)
  const previous = kind === 'api' ? undefined : settings.QUEUE_SHARDS_PREVIOUS
  const formerShards = previous === undefined ? [] : openShards(opening, previous, 'former-')
  // An admin process reads: on a standby it shows what there is while the primary is gone.
  const needsWrites = kind !== 'admin'
  const db = connectDatabase(settings.DATABASE_URL, {
    // A worker's heartbeat has a connection of its own.
    poolSize: kind === 'worker' ? Math.max(1, settings.DATABASE_POOL_SIZE - 1) : settings.DATABASE_POOL_SIZE,
    queryTimeoutMs: queryTimeoutMs[kind],
    onConnectionLost: (error) => logWarning(log, 'database_connection_lost', error),
    needsWrites,
    onRefused: (error) => database.noteRefusal(error),
    onUnsteadyPlans: () => log.warn({ event: 'plans_not_steady', reason: setPlansForRole }),
  })
  const database = new DatabaseHealth(db, needsWrites)
  const clock = new DatabaseClock(db, (ms) => metrics.databaseRoundTrip.observe(ms / 1000))
  // An admin process queries PostgreSQL only when a page or a scrape needs it.
  if (kind !== 'admin') clock.start()
  return {
    settings,
    log,
    metrics,
    db,
    database,
    clock,
    shards,
    formerShards,
    async close() {
      clock.stop()
      await closeShards([...shards, ...formerShards])
      await db.$client.end()
    },
  }
}
