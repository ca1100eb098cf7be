import { Queue } from 'bullmq'
import type { Redis } from 'ioredis'
import { keyPrefix, queueName, type SendJob, sendJobSchema } from '../core/send-job.ts'

export type SendQueue = Queue<SendJob>

export function createQueue(connection: Redis): SendQueue {
  const queue = new Queue<SendJob>(queueName, {
    connection,
    prefix: keyPrefix,
    // Without these, a queue made while Redis is away rejects for ever.
    skipWaitingForReady: true,
    skipVersionCheck: true,
  })
  // The connection tells the log when Redis is away; unheard, the same error would go to stderr too.
  queue.on('error', () => {})
  return queue
}

/**
 * Adds a wake-up for each send, keyed by its id: adding one that is there already changes nothing.
 * A finished wake-up leaves nothing behind; what became of the send stands in PostgreSQL.
 */
export async function addWakeUps(queue: SendQueue, requestIds: readonly string[]): Promise<void> {
  await queue.addBulk(
    requestIds.map((requestId) => ({
      name: 'send',
      data: sendJobSchema.parse({ requestId }),
      opts: { jobId: requestId, removeOnComplete: true, removeOnFail: true },
    })),
  )
}

/** Those of the sends that have no wake-up in the queue, whatever its state. */
export async function missingWakeUps(
  redis: Redis,
  queue: SendQueue,
  requestIds: readonly string[],
): Promise<string[]> {
  const exists = await Promise.all(requestIds.map((requestId) => redis.exists(queue.toKey(requestId))))
  return requestIds.filter((_requestId, index) => exists[index] === 0)
}

/**
 * Wakes those of the sends now whose wake-up is to come later, such as that of a retry which a replay has overtaken.
 *
 * @returns how many.
 */
export async function hastenWakeUps(
  redis: Redis,
  queue: SendQueue,
  requestIds: readonly string[],
): Promise<number> {
  const delayed = queue.toKey('delayed')
  const scores = await Promise.all(requestIds.map((requestId) => redis.zscore(delayed, requestId)))
  const late = requestIds.filter((_requestId, index) => scores[index] !== null)
  const jobs = await Promise.all(late.map((requestId) => queue.getJob(requestId)))
  // One that has come by itself meanwhile can't be promoted, and needn't be.
  const promoted = await Promise.allSettled(jobs.map((job) => job?.promote()))
  return promoted.filter(({ status }) => status === 'fulfilled').length
}
