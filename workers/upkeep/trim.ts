import { retentionTrims } from '../../db/upkeep/retention.ts'
import { minuteMs } from '../../src/core/durations.ts'
import type { Needs } from '../../src/runtime.ts'
import { pageSize } from './page-size.ts'
import { type PeriodicTask, startPeriodicTask } from './periodic-task.ts'

type Retention =
  | 'RETENTION_DAYS'
  | 'MEDIA_RETENTION_HOURS'
  | 'CALLBACK_RETENTION_DAYS'
  | 'AUDIT_RETENTION_DAYS'
  | 'USAGE_RETENTION_MONTHS'

/** Removes what is old enough (docs/reference/limits.md#retention). */
export function startTrimming({ db, log, settings }: Needs<'db' | 'log', Retention>): PeriodicTask {
  const trims = retentionTrims({
    days: settings.RETENTION_DAYS,
    mediaHours: settings.MEDIA_RETENTION_HOURS,
    callbackDays: settings.CALLBACK_RETENTION_DAYS,
    auditDays: settings.AUDIT_RETENTION_DAYS,
    usageMonths: settings.USAGE_RETENTION_MONTHS,
  })
  return startPeriodicTask({ log, event: 'trim_failed', pauseMs: minuteMs }, async () => {
    let isMoreLeft = false
    for (const [what, trim] of Object.entries(trims)) {
      const count = await trim(db, pageSize)
      if (count > 0) log.info({ event: 'trimmed', what, count })
      isMoreLeft ||= count === pageSize
    }
    return isMoreLeft ? 0 : minuteMs
  })
}
