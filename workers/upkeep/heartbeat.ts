import { connectDatabase } from '../../db/client.ts'
import { beat, retire } from '../../db/delivery/workers.ts'
import { logWarning } from '../../src/platform/logger.ts'
import type { Needs } from '../../src/runtime.ts'
import { type PeriodicTask, startPeriodicTask } from './periodic-task.ts'

/** Without a beat for so long a worker counts as dead, and its claims as lost. */
export const leaseMs = 8000
const beatEveryMs = 2000
const beatAgainAfterFaultMs = 500
/** A longer gap between two beats says that PostgreSQL, or this worker, was away. */
const longestGapMs = 4000
/** Soon enough for another try, on another connection, before the lease is over. */
const beatTimeoutMs = 2500

/** This worker's sign of life, on which all its claims hang. */
export interface Heartbeat {
  /** Names this worker in claims and timelines. */
  worker: string
  /** Resolves when the first beat has gone through: before that no claim is this worker's. */
  begun: Promise<void>
  /** Whether others still count this worker as alive, as far as it knows; it errs on the side of no. */
  holdsLease(): boolean
  /**
   * Whether this worker's own beats have gone through for a lease's time. Only then may it count others as dead: if
   * PostgreSQL was away, theirs couldn't go through either.
   */
  maySweep(): boolean
  /** Until when it may, by PostgreSQL's clock, should no further beat go through. */
  sweepsUntil(): Date
  /** Ends the lease. To be called when the worker has nothing in hand any more. */
  stop(): Promise<void>
}

/** Has a connection of its own, so that it never stands behind the deliveries. */
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
  const rounds: PeriodicTask = startPeriodicTask(
    { log, event: 'heartbeat_failed', pauseMs: beatAgainAfterFaultMs },
    async () => {
      // PostgreSQL begins the lease later than this: it can only be longer there.
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
      await rounds.stop()
      await retire(db, worker).catch((error: unknown) => logWarning(log, 'heartbeat_failed', error))
      await db.$client.end()
    },
  }
}
