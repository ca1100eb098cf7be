import { foldCounts } from '../../db/counters/fold.ts'
import type { Needs } from '../../src/runtime.ts'
import type { WorkerTimes } from '../worker-times.ts'
import { type PeriodicTask, startPeriodicTask } from './periodic-task.ts'

/** Changes of counters are short, and one statement may append some hundred. A large page updates few rows for many changes. */
const foldedAtOnce = 50_000

/** Adds the changes that statements have appended to the counters. */
export function startFoldingCounts(
  { db, log }: Needs<'db' | 'log'>,
  { foldEveryMs }: Pick<WorkerTimes, 'foldEveryMs'>,
): PeriodicTask {
  return startPeriodicTask({ log, event: 'fold_counts_failed', pauseMs: foldEveryMs }, async () =>
    (await foldCounts(db, foldedAtOnce)) < foldedAtOnce ? foldEveryMs : 0,
  )
}
