import type { Needs } from '../../src/runtime.ts'
import { createEndSends } from '../../src/sends/end-sends.ts'
import type { FallbackSettings } from '../../src/sends/fall-back.ts'
import type { WorkerTimes } from '../worker-times.ts'
import { createNoteFailed } from './note-failed.ts'
import { type PeriodicTask, startPeriodicTask } from './periodic-task.ts'

/** Fails waiting sends to contacts that were suppressed since their accept. */
export function startCheckingSuppressions(
  runtime: Needs<'db' | 'log' | 'metrics' | 'shards', FallbackSettings>,
  { sweepEveryMs }: Pick<WorkerTimes, 'sweepEveryMs'>,
): PeriodicTask {
  const { log } = runtime
  const { runSuppressionChecks } = createEndSends(runtime)
  const noteFailed = createNoteFailed(runtime)
  return startPeriodicTask({ log, event: 'check_suppressions_failed', pauseMs: sweepEveryMs }, async () => {
    const { failed, isMore } = await runSuppressionChecks()
    noteFailed(failed)
    return isMore ? 0 : sweepEveryMs
  })
}
