import { findSendsToPostpone, postponeSends } from '../../db/delivery/postpone.ts'
import { logEvent } from '../../src/platform/log/logger.ts'
import type { Needs } from '../../src/runtime.ts'
import type { WorkerTimes } from '../worker-times.ts'
import { pageSize } from './page-size.ts'
import { type PeriodicTask, startPeriodicTask } from './periodic-task.ts'

/**
 * Postpones sends that wait in quiet hours, or for their ceilings, without a wake-up of their own, such as those that have waited for permits until then: as long
 * as they are due, each search for due sends reads them.
 */
export function startPostponingSends(
  { db, log }: Needs<'db' | 'log'>,
  { sweepEveryMs }: Pick<WorkerTimes, 'sweepEveryMs'>,
): PeriodicTask {
  return startPeriodicTask({ log, event: 'postpone_sends_failed', pauseMs: sweepEveryMs }, async () => {
    const found = await findSendsToPostpone(db, pageSize)
    const postponed = found.length === 0 ? [] : await postponeSends(db, found)
    for (const { requestId, reason, nextAttemptAt } of postponed)
      logEvent(log, requestId, 'postponed', { reason, nextAttemptAt })
    return postponed.length < pageSize ? sweepEveryMs : 0
  })
}
