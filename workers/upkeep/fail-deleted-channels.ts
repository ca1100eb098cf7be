import { failSendsOfDeletedChannels } from '../../db/accounts/deleted-channels.ts'
import type { Needs } from '../../src/runtime.ts'
import type { WorkerTimes } from '../worker-times.ts'
import { createNoteFailed } from './note-failed.ts'
import { pageSize } from './page-size.ts'
import { type PeriodicTask, startPeriodicTask } from './periodic-task.ts'

/** Fails the waiting sends of deleted channels. */
export function startFailingDeletedChannels(
  runtime: Needs<'db' | 'log' | 'metrics' | 'shards'>,
  { sweepEveryMs }: Pick<WorkerTimes, 'sweepEveryMs'>,
): PeriodicTask {
  const { db, log } = runtime
  const noteFailed = createNoteFailed(runtime)
  return startPeriodicTask(
    { log, event: 'fail_deleted_channels_failed', pauseMs: sweepEveryMs },
    async () => {
      const failed = await failSendsOfDeletedChannels(db, pageSize)
      noteFailed(failed)
      return failed.length < pageSize ? sweepEveryMs : 0
    },
  )
}
