import { connectDatabase } from '../../db/client.ts'
import { beat, retire } from '../../db/delivery/workers.ts'
import { logWarning } from '../../src/platform/logger.ts'
import type { Needs } from '../../src/runtime.ts'
import { type PeriodicTask, startPeriodicTask } from './periodic-task.ts'

/** After this long without a heartbeat, a worker counts as dead, and its claims as lost. */
export const leaseMs = 8000
const beatEveryMs = 2000
const beatAgainAfterFaultMs = 500
/** A longer gap between two heartbeats means that PostgreSQL was down, or this worker blocked. */
const longestGapMs = 4000
/** Short enough for another try, on another connection, before the lease ends. */
const beatTimeoutMs = 2500

/** The heartbeat that renews this worker's lease. Without the lease, its claims count as lost. */
export interface Heartbeat {
  /** The name of this worker in claims and timelines. */
  worker: string
  /** Resolves after the first heartbeat. Before that, the worker can't claim. */
  begun: Promise<void>
  /** Whether the other workers still count this one as alive. In doubt it returns false. */
  holdsLease(): boolean
  /**
   * Whether this worker's heartbeats have succeeded for the length of a lease. Only then may it count others as dead: if
   * PostgreSQL was down, their heartbeats failed too.
   */
  maySweep(): boolean
  /** The time, by PostgreSQL's clock, until which it may sweep if no further heartbeat succeeds. */
  sweepsUntil(): Date
  /** Ends the lease. Call it when no send is in flight. */
  stop(): Promise<void>
}

/** Uses a connection of its own, so that deliveries can't delay it. */
export function startHeartbeat({ settings, log }: Needs<'log', 'DATABASE_URL'>, worker: string): Heartbeat {
  const db = connectDatabase(settings.DATABASE_URL, {
    poolSize: 1,
    queryTimeoutMs: beatTimeoutMs,
    onConnectionLost: (error) => logWarning(log, 'database_connection_lost', error),
  })
  let begin = () => {}
  const begun = new Promise<void>((resolve) => {
    begin = resolve
  })
  let lastBeatAt = Number.NEGATIVE_INFINITY
  let steadySince = Number.POSITIVE_INFINITY
  let aliveUntil = new Date(0)
  const isWithin = (ms: number) => performance.now() - lastBeatAt < ms
  const task: PeriodicTask = startPeriodicTask(
    { log, event: 'heartbeat_failed', pauseMs: beatAgainAfterFaultMs },
    async () => {
      // PostgreSQL starts the lease later than this, so the lease lasts at least as long as this worker assumes.
      const beganAt = performance.now()
      aliveUntil = await beat(db, worker, leaseMs)
      if (!isWithin(longestGapMs)) steadySince = performance.now()
      lastBeatAt = beganAt
      begin()
      return beatEveryMs
    },
  )
  return {
    worker,
    begun,
    holdsLease: () => isWithin(leaseMs),
    maySweep: () => isWithin(longestGapMs) && performance.now() - steadySince >= leaseMs,
    sweepsUntil: () => new Date(aliveUntil.getTime() - leaseMs + longestGapMs),
    async stop() {
      await task.stop()
      await retire(db, worker).catch((error: unknown) => logWarning(log, 'heartbeat_failed', error))
      await db.$client.end()
    },
  }
}
