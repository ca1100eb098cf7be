import { connectDatabase } from '../../db/connection/client.ts'
import { beat, retire } from '../../db/delivery/leases.ts'
import { logWarning } from '../../src/platform/log/logger.ts'
import type { Needs } from '../../src/runtime.ts'
import { type WorkerTimes, workerTimes } from '../worker-times.ts'
import { type PeriodicTask, startPeriodicTask } from './periodic-task.ts'

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
export function startHeartbeat(
  { settings, log }: Needs<'log', 'DATABASE_URL'>,
  worker: string,
  times: WorkerTimes = workerTimes,
): Heartbeat {
  const { leaseMs, beatEveryMs, longestBeatGapMs } = times
  const db = connectDatabase(settings.DATABASE_URL, {
    poolSize: 1,
    queryTimeoutMs: times.beatTimeoutMs,
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
    { log, event: 'heartbeat_failed', pauseMs: times.beatAgainAfterFaultMs },
    async () => {
      // PostgreSQL starts the lease later than this, so the lease lasts at least as long as this worker assumes.
      const beganAt = performance.now()
      aliveUntil = await beat(db, worker, leaseMs)
      if (!isWithin(longestBeatGapMs)) steadySince = performance.now()
      lastBeatAt = beganAt
      begin()
      return beatEveryMs
    },
  )
  return {
    worker,
    begun,
    holdsLease: () => isWithin(leaseMs),
    maySweep: () => isWithin(longestBeatGapMs) && performance.now() - steadySince >= leaseMs,
    sweepsUntil: () => new Date(aliveUntil.getTime() - leaseMs + longestBeatGapMs),
    async stop() {
      await task.stop()
      await retire(db, worker).catch((error: unknown) => logWarning(log, 'heartbeat_failed', error))
      await db.$client.end()
    },
  }
}
