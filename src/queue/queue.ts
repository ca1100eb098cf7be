import { Queue } from 'bullmq'
import type { Redis } from 'ioredis'
import { keyPrefix, type SendJob, sendJobSchema, type WakeUp } from '../core/send-job.ts'
import { fairTags } from './fair-order.ts'

export type SendQueue = Queue<SendJob>

/** The ordinary queue, and the one for what a channel has beyond its places in it. */
export interface SendQueues {
  redis: Redis
  queue: SendQueue
  overflow: SendQueue
}

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
 * For whoever follows wake-ups: a finished one leaves nothing behind; what became of the send stands in PostgreSQL. Told
 * here and not with each job, whose options then have the 64 bytes up to which Redis keeps a job in half the memory.
 */
export const leaveNothing = { removeOnComplete: { count: 0 }, removeOnFail: { count: 0 } }

/** Adds wake-ups, each keyed by its send's id: adding one that is there already changes nothing. */
export async function addWakeUps(queues: SendQueues, wakeUps: readonly WakeUp[]): Promise<void> {
  const ordinary = wakeUps.filter(({ overflowOf }) => !overflowOf)
  await addJobs(
    queues.queue,
    ordinary.map((wakeUp) => toJob(wakeUp)),
  )
  const flood = wakeUps.filter(({ overflowOf }) => overflowOf)
  if (flood.length === 0) return
  const tags = await fairTags(
    queues,
    flood.map(({ overflowOf }) => overflowOf ?? ''),
  )
  await addJobs(
    queues.overflow,
    flood.map((wakeUp, index) => toJob(wakeUp, tags[index])),
  )
}

/** A lone job isn't worth a pipeline, which copies all of BullMQ's scripts. */
async function addJobs(queue: SendQueue, jobs: ReturnType<typeof toJob>[]): Promise<void> {
  const [first] = jobs
  if (first && jobs.length === 1) await queue.add(first.name, first.data, first.opts)
  else if (first) await queue.addBulk(jobs)
}

/** Nobody waits for it: it is brought forward before. */
const behindMs = 3_600_000

function toJob({ requestId, inMs, isBehind }: WakeUp, priority?: number) {
  const delay = isBehind ? behindMs : inMs
  const rest = { ...(delay && { delay }), ...(priority !== undefined && { priority }) }
  return {
    name: 'send',
    data: sendJobSchema.parse({ requestId }),
    opts: { jobId: requestId, ...rest },
  }
}

/** A job's place among the delayed ones is its moment, times this. */
const delayedScale = 4096
const slackMs = 500

/** Of each id: that it has no job, its place among the delayed ones, or neither. */
const statesScript = `
  local states = {}
  for i, id in ipairs(ARGV) do
    states[i] = redis.call('zscore', KEYS[1], id) or redis.call('exists', KEYS[2] .. id) == 0 and 'missing' or 'waiting'
  end
  return states`

/**
 * Adds those wake-ups that are in no queue, and hastens those that are to come later, such as that of a retry which a
 * replay has overtaken.
 *
 * @returns how many.
 */
export async function restoreWakeUps(queues: SendQueues, wakeUps: readonly WakeUp[]): Promise<number> {
  const { redis, queue, overflow } = queues
  const restore = async (of: SendQueue, part: readonly WakeUp[]) => {
    if (part.length === 0) return 0
    const ids = part.map(({ requestId }) => requestId)
    const states = (await redis.eval(statesScript, 2, of.toKey('delayed'), of.toKey(''), ...ids)) as string[]
    const missing = part.filter((_wakeUp, index) => states[index] === 'missing')
    if (missing.length > 0) await addWakeUps(queues, missing)
    const late = part.filter(
      ({ inMs = 0 }, index) => Number(states[index]) / delayedScale > Date.now() + inMs + slackMs,
    )
    // One that has come by itself meanwhile can't be promoted, and needn't be.
    const promoted = await Promise.allSettled(late.map((wakeUp) => promote(of, wakeUp)))
    return missing.length + promoted.filter(({ status }) => status === 'fulfilled').length
  }
  const [ordinary, flood] = await Promise.all([
    restore(
      queue,
      wakeUps.filter(({ overflowOf }) => !overflowOf),
    ),
    restore(
      overflow,
      wakeUps.filter(({ overflowOf }) => overflowOf),
    ),
  ])
  return ordinary + flood
}

async function promote(queue: SendQueue, { requestId, inMs }: WakeUp): Promise<void> {
  const job = await queue.getJob(requestId)
  await (inMs ? job?.changeDelay(inMs) : job?.promote())
}
