import { Queue } from 'bullmq'
import type { Redis } from 'ioredis'
import { type CallbackJob, callbackJobSchema, type EndpointWakeUp } from '../core/callbacks/callback-job.ts'
import { hourMs } from '../core/durations.ts'
import { type SendJob, sendJobSchema, type WakeUp } from '../core/sends/send-job.ts'
import { fairTags, largestPriority } from './fair-order.ts'

export type SendQueue = Queue<SendJob>
export type CallbackQueue = Queue<CallbackJob>

/** The ordinary queue, and the overflow queue for wake-ups beyond an account's quota. */
export interface SendQueues {
  prefix: string
  redis: Redis
  queue: SendQueue
  overflow: SendQueue
}

/** The queue of endpoints, and the one for those in slow start. */
export interface EndpointQueues {
  redis: Redis
  callbacks: CallbackQueue
  slowStarts: CallbackQueue
}

export function createQueue<Job = SendJob>(name: string, prefix: string, connection: Redis): Queue<Job> {
  const queue = new Queue<Job>(name, {
    connection,
    prefix,
    // Without these, a queue created while Redis is down rejects every call for good.
    skipWaitingForReady: true,
    skipVersionCheck: true,
  })
  // The connection logs when Redis is down. Without a listener, the same error would also go to stderr.
  queue.on('error', () => {})
  return queue
}

/**
 * Options of BullMQ workers: a finished job is removed, because the send's state is in PostgreSQL. Not set on each job, so
 * that a job's options stay within the 64 bytes up to which Redis stores a job in half the memory.
 */
export const leaveNothing = { removeOnComplete: { count: 0 }, removeOnFail: { count: 0 } }

/** Adds wake-ups, each keyed by its requestId: adding one that exists already changes nothing. */
export async function addWakeUps(queues: SendQueues, wakeUps: readonly WakeUp[]): Promise<void> {
  const ordinary = wakeUps.filter(({ overflowOf }) => !overflowOf)
  await addJobs(
    queues.queue,
    ordinary.map((wakeUp) => toJob(wakeUp)),
  )
  const overflowing = wakeUps.filter(({ overflowOf }) => overflowOf)
  if (overflowing.length === 0) return
  const tags = await fairTags(
    queues,
    overflowing.map(({ overflowOf }) => overflowOf ?? ''),
  )
  await addJobs(
    queues.overflow,
    overflowing.map((wakeUp, index) => toJob(wakeUp, tags[index])),
  )
}

interface NewJob<Job> {
  name: string
  data: Job
  opts: { jobId: string; delay?: number; priority?: number }
}

/** A single job goes without a pipeline, which copies all of BullMQ's scripts. */
async function addJobs<Job>(queue: Queue<Job>, jobs: NewJob<Job>[]): Promise<void> {
  // BullMQ's types of a queue depend on its type of jobs in ways that no type parameter satisfies.
  const plain = queue as unknown as Queue
  const [first] = jobs
  if (first && jobs.length === 1) await plain.add(first.name, first.data, first.opts)
  else if (first) await plain.addBulk(jobs)
}

/** Delay of a wake-up whose send is behind an earlier one of its lane; it is promoted when that one ends. */
const behindMs = hourMs

function toJob({ requestId, inMs, isBehind }: WakeUp, priority?: number): NewJob<SendJob> {
  const delay = isBehind ? behindMs : inMs
  const rest = { ...(delay && { delay }), ...(priority !== undefined && { priority }) }
  return {
    name: 'send',
    data: sendJobSchema.parse({ requestId }),
    opts: { jobId: requestId, ...rest },
  }
}

/** BullMQ's score of a delayed job is its due time in ms, times this. */
const delayedScale = 4096
const slackMs = 500

/** For each id: its score if its job is delayed, else 'missing' or 'waiting'. */
const statesScript = `
  local states = {}
  for i, id in ipairs(ARGV) do
    local score = redis.call('zscore', KEYS[1], id)
    states[i] = score or (redis.call('exists', KEYS[2] .. id) == 0 and 'missing' or 'waiting')
  end
  return states`

/**
 * Adds those wake-ups that are in no queue, and promotes those that are delayed for too long, such as the wake-up of a retry
 * whose send was replayed meanwhile.
 *
 * @returns how many were added or promoted.
 */
export async function restoreWakeUps(queues: SendQueues, wakeUps: readonly WakeUp[]): Promise<number> {
  const { redis, queue, overflow } = queues
  const idOf = ({ requestId }: WakeUp) => requestId
  const add = (missing: readonly WakeUp[]) => addWakeUps(queues, missing)
  const [ordinary, overflowing] = await Promise.all([
    restore(
      { redis, queue, idOf, add },
      wakeUps.filter(({ overflowOf }) => !overflowOf),
    ),
    restore(
      { redis, queue: overflow, idOf, add },
      wakeUps.filter(({ overflowOf }) => overflowOf),
    ),
  ])
  return ordinary + overflowing
}

/**
 * Restores wake-ups of endpoints. One of unknown kind is restored in the queue that has it, so that new callbacks of endpoints
 * that fail don't bring them to the other queue.
 */
export async function restoreEndpointWakeUps(
  { redis, callbacks, slowStarts }: EndpointQueues,
  wakeUps: readonly EndpointWakeUp[],
): Promise<number> {
  const idOf = ({ endpointId }: EndpointWakeUp) => endpointId
  const states = await statesOf(redis, slowStarts, wakeUps.map(idOf))
  const inSlowStart = new Set(
    wakeUps.filter(({ isInSlowStart }, index) => isInSlowStart ?? states[index] !== 'missing'),
  )
  const restoreIn = (queue: CallbackQueue, part: EndpointWakeUp[]) => {
    const add = (missing: readonly EndpointWakeUp[]) => addJobs(queue, missing.map(toEndpointJob))
    return restore({ redis, queue, idOf, add }, part)
  }
  const [usual, slow] = await Promise.all([
    restoreIn(
      callbacks,
      wakeUps.filter((wakeUp) => !inSlowStart.has(wakeUp)),
    ),
    restoreIn(slowStarts, [...inSlowStart]),
  ])
  return usual + slow
}

function toEndpointJob({ endpointId, inMs, failingForSeconds }: EndpointWakeUp): NewJob<CallbackJob> {
  return {
    name: 'callback',
    data: callbackJobSchema.parse({ endpointId }),
    opts: {
      jobId: endpointId,
      ...(inMs && { delay: inMs }),
      ...(failingForSeconds != null && { priority: Math.min(largestPriority, 1 + failingForSeconds) }),
    },
  }
}

interface Restoring<Item> {
  redis: Redis
  queue: Pick<Queue, 'toKey' | 'getJob'>
  idOf: (wakeUp: Item) => string
  add: (missing: readonly Item[]) => Promise<void>
}

async function restore<Item extends { inMs?: number }>(
  { redis, queue, idOf, add }: Restoring<Item>,
  wakeUps: readonly Item[],
): Promise<number> {
  const states = await statesOf(redis, queue, wakeUps.map(idOf))
  const missing = wakeUps.filter((_wakeUp, index) => states[index] === 'missing')
  if (missing.length > 0) await add(missing)
  // The score of one that isn't delayed is no number.
  const late = wakeUps.filter(
    ({ inMs = 0 }, index) => Number(states[index]) / delayedScale > Date.now() + inMs + slackMs,
  )
  // Promoting fails for a job that has become due meanwhile, which is fine.
  const promoted = await Promise.allSettled(
    late.map(async (wakeUp) => {
      const job = await queue.getJob(idOf(wakeUp))
      await (wakeUp.inMs ? job?.changeDelay(wakeUp.inMs) : job?.promote())
    }),
  )
  return missing.length + promoted.filter(({ status }) => status === 'fulfilled').length
}

async function statesOf(
  redis: Redis,
  queue: Pick<Queue, 'toKey'>,
  ids: readonly string[],
): Promise<string[]> {
  if (ids.length === 0) return []
  const keys = [queue.toKey('delayed'), queue.toKey('')]
  return (await redis.eval(statesScript, keys.length, ...keys, ...ids)) as string[]
}
