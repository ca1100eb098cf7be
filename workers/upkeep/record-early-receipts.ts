import { dropEarlyReceipts, findDueReceipts } from '../../db/receipts/message-ids.ts'
import type { Needs } from '../../src/runtime.ts'
import type { FallbackSettings } from '../../src/sends/fall-back.ts'
import { createRecordReceipts } from '../../src/sends/record-receipts.ts'
import type { WorkerTimes } from '../worker-times.ts'
import { type PeriodicTask, startPeriodicTask } from './periodic-task.ts'

const pageSize = 100

/**
 * Records receipts by the provider's id that came before the outcome of their call, once that is recorded. Two workers may record the same
 * one: a repeat changes nothing.
 */
export function startRecordingEarlyReceipts(
  runtime: Needs<'db' | 'clock' | 'log' | 'metrics' | 'shards', FallbackSettings>,
  { sweepEveryMs }: Pick<WorkerTimes, 'sweepEveryMs'>,
): PeriodicTask {
  const { db, log } = runtime
  const recordReceipts = createRecordReceipts(runtime)
  return startPeriodicTask(
    { log, event: 'record_early_receipts_failed', pauseMs: sweepEveryMs },
    async () => {
      const due = await findDueReceipts(db, pageSize)
      for (const { receipt, requestId, provider, channelId, hasFallback } of due) {
        const receipts = [{ receipt: { ...receipt, requestId }, channelIds: [channelId], hasFallback }]
        await recordReceipts({ provider, channelId, receipts })
      }
      if (due.length > 0)
        await dropEarlyReceipts(
          db,
          due.map(({ id }) => id),
        )
      return due.length < pageSize ? sweepEveryMs : 0
    },
  )
}
