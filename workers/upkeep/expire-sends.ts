import { expireSends } from '../../db/delivery/expiry.ts'
import type { Needs } from '../../src/runtime.ts'
import type { WorkerTimes } from '../worker-times.ts'
import { createNoteFailed } from './note-failed.ts'
import { pageSize } from './page-size.ts'
import { type PeriodicTask, startPeriodicTask } from './periodic-task.ts'

/** Fails queued sends that have expired. */
export function startExpiringSends(
  runtime: Needs<'db' | 'log' | 'metrics' | 'shards'>,
  { sweepEveryMs }: Pick<WorkerTimes, 'sweepEveryMs'>,
): PeriodicTask {
  const { db, log } = runtime
  const noteFailed = createNoteFailed(runtime)
  return startPeriodicTask({ log, event: 'expire_sends_failed', pauseMs: sweepEveryMs }, async () => {
    const failed = await expireSends(db, pageSize)
    noteFailed(failed)
    return failed.length < pageSize ? sweepEveryMs : 0
  })
}
