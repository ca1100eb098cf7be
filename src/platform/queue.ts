import { Queue } from 'bullmq'
import type { Redis } from 'ioredis'
import { keyPrefix, type SendJob, sendJobSchema, type WakeUp } from '../core/send-job.ts'
import { fairTags } from './fair-order.ts'
import type { Runtime } from './runtime.ts'

export type SendQueue = Queue<SendJob>

/** The ordinary queue, and the one for what an account has beyond its places in it. */
export type SendQueues = Pick<Runtime, 'redis' | 'queue' | 'overflow'>

export function createQueue(name: string, connection: Redis): SendQueue {
  const queue = new Queue<SendJob>(name, {
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
 * Adds wake-ups, each keyed by its send's id: adding one that is there already changes nothing.
 * A finished wake-up leaves nothing behind; what became of the send stands in PostgreSQL.
 */
export async function addWakeUps(queues: SendQueues, wakeUps: readonly WakeUp[]): Promise<void> {
  const ordinary = wakeUps.filter(({ overflowOf }) => !overflowOf)
  if (ordinary.length > 0) await queues.queue.addBulk(ordinary.map((wakeUp) => toJob(wakeUp)))
  const flood = wakeUps.filter(({ overflowOf }) => overflowOf)
  if (flood.length === 0) return
  const tags = await fairTags(
    queues,
    flood.map(({ overflowOf }) => overflowOf ?? ''),
  )
  await queues.overflow.addBulk(flood.map((wakeUp, index) => toJob(wakeUp, tags[index])))
}

function toJob({ requestId, inMs }: WakeUp, priority?: number) {
  const rest = { ...(inMs && { delay: inMs }), ...(priority !== undefined && { priority }) }
  return {
    name: 'send',
    data: sendJobSchema.parse({ requestId }),
    opts: { jobId: requestId, removeOnComplete: true, removeOnFail: true, ...rest },
  }
}

const queueOf = ({ queue, overflow }: SendQueues, { overflowOf }: WakeUp) => (overflowOf ? overflow : queue)

/** Those that are in no queue, whatever their state. */
export async function missingWakeUps<W extends WakeUp>(
  queues: SendQueues,
  wakeUps: readonly W[],
): Promise<W[]> {
  const keys = wakeUps.map((wakeUp) => queueOf(queues, wakeUp).toKey(wakeUp.requestId))
  const exists = await Promise.all(keys.map((key) => queues.redis.exists(key)))
  return wakeUps.filter((_wakeUp, index) => exists[index] === 0)
}

/** A job's place among the delayed ones is its moment, times this. */
const delayedScale = 4096
const slackMs = 500

/**
 * Wakes those in time whose wake-up is to come later, such as that of a retry which a replay has overtaken.
 *
 * @returns how many.
 */
export async function hastenWakeUps(queues: SendQueues, wakeUps: readonly WakeUp[]): Promise<number> {
  const scores = await Promise.all(
    wakeUps.map((wakeUp) => queues.redis.zscore(queueOf(queues, wakeUp).toKey('delayed'), wakeUp.requestId)),
  )
  const now = Date.now()
  const late = wakeUps.filter(
    ({ inMs = 0 }, index) => Number(scores[index]) / delayedScale > now + inMs + slackMs,
  )
  const hasten = async (wakeUp: WakeUp) => {
    const job = await queueOf(queues, wakeUp).getJob(wakeUp.requestId)
    await (wakeUp.inMs ? job?.changeDelay(wakeUp.inMs) : job?.promote())
  }
  // One that has come by itself meanwhile can't be hastened, and needn't be.
  const hastened = await Promise.allSettled(late.map(hasten))
  return hastened.filter(({ status }) => status === 'fulfilled').length
}
