import { type WorkerTimes, workerTimes } from '../worker-times.ts'
import { startCheckingSuppressions } from './check-suppressions.ts'
import { startExpiringSends } from './expire-sends.ts'
import { startFailingDeletedChannels } from './fail-deleted-channels.ts'
import { startFoldingCounts } from './fold-counts.ts'
import { startGivingUpClaims } from './give-up-claims.ts'
import type { PeriodicTask } from './periodic-task.ts'
import { startPostponingSends } from './postpone-sends.ts'
import { startRecordingEarlyReceipts } from './record-early-receipts.ts'
import { startReportingCeilings } from './report-ceilings.ts'
import { startTrimming } from './trim.ts'

type GivingUp = Parameters<typeof startGivingUpClaims>
type Runtime = GivingUp[0] &
  Parameters<typeof startTrimming>[0] &
  Parameters<typeof startRecordingEarlyReceipts>[0]

/**
 * Starts the tasks that maintain what deliveries leave. Every worker runs all of them, and skips rows that another one is changing.
 *
 * @param inFlight the sends that this worker is processing, and its claims of endpoints.
 */
export function startSweeps(
  runtime: Runtime,
  heartbeat: GivingUp[1],
  inFlight: GivingUp[2],
  times: Pick<WorkerTimes, 'sweepEveryMs' | 'foldEveryMs'> = workerTimes,
): PeriodicTask {
  const tasks = [
    startGivingUpClaims(runtime, heartbeat, inFlight, times),
    startExpiringSends(runtime, times),
    startFailingDeletedChannels(runtime, times),
    startCheckingSuppressions(runtime, times),
    startPostponingSends(runtime, times),
    startFoldingCounts(runtime, times),
    startReportingCeilings(runtime, times),
    startRecordingEarlyReceipts(runtime, times),
    startTrimming(runtime),
  ]
  return {
    async stop() {
      await Promise.all(tasks.map((task) => task.stop()))
    },
  }
}
