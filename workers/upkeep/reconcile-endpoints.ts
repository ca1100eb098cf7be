import { findDueEndpoints } from '../../db/callbacks/due-endpoints.ts'
import { restoreEndpointsOnShards } from '../../src/queue/shard.ts'
import type { Needs } from '../../src/runtime.ts'
import { type WorkerTimes, workerTimes } from '../worker-times.ts'
import { type PeriodicTask, startPeriodicTask } from './periodic-task.ts'

const endpointsAtOnce = 1000

/**
 * Adds wake-ups for endpoints that have callbacks due but no wake-up, or too late a one: because Redis was down or lost
 * its data, or because nobody wakes them, as after an expiry or a replay.
 */
export function startEndpointReconciler(
  { db, log, metrics, shards }: Needs<'db' | 'log' | 'metrics' | 'shards'>,
  times: Pick<WorkerTimes, 'reconcileEveryMs' | 'overdueByMs'> = workerTimes,
): PeriodicTask {
  const pauseMs = times.reconcileEveryMs
  return startPeriodicTask({ log, event: 'reconcile_failed', pauseMs }, async () => {
    const due = await findDueEndpoints(db, times.overdueByMs)
    const failures: unknown[] = []
    for (let first = 0; first < due.length; first += endpointsAtOnce) {
      const page = await restoreEndpointsOnShards(shards, due.slice(first, first + endpointsAtOnce))
      metrics.reconciledEndpoints.inc(page.restored)
      failures.push(...page.failures.map(({ error }) => error))
    }
    if (failures.length > 0) throw failures[0]
    return undefined
  })
}
