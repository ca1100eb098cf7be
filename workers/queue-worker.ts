import { DelayedError, type Job, Worker } from 'bullmq'
import { keyPrefix, queueName, type SendJob, sendJobSchema } from '../src/core/send-job.ts'
import { logFault, logWarning } from '../src/platform/logger.ts'
import type { Runtime } from '../src/platform/runtime.ts'
import type { NextWakeUp } from './deliver.ts'

/** A killed worker's jobs are taken up again within lock and check together. */
const lockDurationMs = 10_000
const stalledCheckMs = 5_000
/** How often a job may lose its worker; whether a send kills workers is counted in PostgreSQL, not here. */
const maxStalls = 1_000_000
const wakeAfterFaultMs = 1_000

/**
 * Follows wake-ups from the queue. A wake-up whose send is to be tried later, or whose processing hit a fault such as
 * PostgreSQL being away, goes back as a delayed one under the same id.
 */
export function startQueueWorker(
  runtime: Runtime,
  deliver: (requestId: string) => Promise<NextWakeUp>,
): Worker<SendJob> {
  const { log, redis, settings } = runtime
  const follow = async (job: Job<SendJob>, token?: string): Promise<void> => {
    const { requestId } = sendJobSchema.parse(job.data)
    const { wakeInMs } = await deliver(requestId).catch((error: unknown): NextWakeUp => {
      logFault(log, 'wake_up_failed', error, { requestId })
      return { wakeInMs: wakeAfterFaultMs }
    })
    if (wakeInMs === undefined) return
    await job.moveToDelayed(Date.now() + wakeInMs, token)
    throw new DelayedError()
  }
  const worker = new Worker<SendJob>(queueName, follow, {
    connection: redis,
    prefix: keyPrefix,
    concurrency: settings.WORKER_CONCURRENCY,
    lockDuration: lockDurationMs,
    stalledInterval: stalledCheckMs,
    maxStalledCount: maxStalls,
  })
  worker.on('error', (error) => logWarning(log, 'queue_fault', error))
  worker.on('failed', (job, error) => logFault(log, 'wake_up_lost', error, { requestId: job?.id }))
  return worker
}
