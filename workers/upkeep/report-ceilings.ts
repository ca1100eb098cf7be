import { reportCeilings } from '../../db/ceilings/report-ceilings.ts'
import { createWakeEndpoints } from '../../src/queue/wake-endpoints.ts'
import type { Needs } from '../../src/runtime.ts'
import type { WorkerTimes } from '../worker-times.ts'
import { pageSize } from './page-size.ts'
import { type PeriodicTask, startPeriodicTask } from './periodic-task.ts'

/** Reports ceilings of which a share was used: in the log, the metrics, and to the endpoints that chose it. */
export function startReportingCeilings(
  runtime: Needs<'db' | 'log' | 'metrics' | 'shards'>,
  { sweepEveryMs }: Pick<WorkerTimes, 'sweepEveryMs'>,
): PeriodicTask {
  const { db, log, metrics } = runtime
  const wakeEndpoints = createWakeEndpoints(runtime)
  return startPeriodicTask({ log, event: 'report_ceilings_failed', pauseMs: sweepEveryMs }, async () => {
    const reported = await reportCeilings(db, pageSize)
    for (const { report, endpointsToWake } of reported) {
      log.info({ event: 'ceiling_used', ...report })
      metrics.ceilingReports.inc({ percent: report.percent })
      wakeEndpoints(endpointsToWake ?? [])
    }
    return reported.length < pageSize ? sweepEveryMs : 0
  })
}
