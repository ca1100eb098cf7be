import { Queue } from 'bullmq'
import type { Redis } from 'ioredis'
import {
  type CallbackJob,
  callbackJobSchema,
  type EndpointWakeUp,
  longestPutOffMs,
} from '../core/callback-job.ts'
import { type SendJob, sendJobSchema, type WakeUp } from '../core/send-job.ts'
import { fairTags } from './fair-order.ts'

export type SendQueue = Queue<SendJob>
export type CallbackQueue = Queue<CallbackJob>

/** The ordinary queue, the overflow queue for wake-ups beyond an account's quota, and the queue of endpoints. */
export interface SendQueues {
  prefix: string
  redis: Redis
  queue: SendQueue
  overflow: SendQueue
  callbacks: CallbackQueue
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
export async function addWakeUps(
  queues: Omit<SendQueues, 'callbacks'>,
  wakeUps: readonly WakeUp[],
): Promise<void> {
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
const behindMs = 3_600_000

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
/** The name of a job whose endpoint is put off. */
const putOffName = 'put-off'
/** So it is never promoted: otherwise new callbacks, and each pass of the reconciler, would bring back all endpoints that don't answer. */
const putOffSlackMs = longestPutOffMs + slackMs

/** For each id: its score and its name if its job is delayed, else 'missing' or 'waiting'. */
const statesScript = `
  local states = {}
  for i, id in ipairs(ARGV) do
    local score = redis.call('zscore', KEYS[1], id)
    if score then states[i] = {score, redis.call('hget', KEYS[2] .. id, 'name')}
    else states[i] = redis.call('exists', KEYS[2] .. id) == 0 and 'missing' or 'waiting' end
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

/** The same for wake-ups of endpoints. */
export async function restoreEndpointWakeUps(
  { redis, callbacks: queue }: SendQueues,
  wakeUps: readonly EndpointWakeUp[],
): Promise<number> {
  const idOf = ({ endpointId }: EndpointWakeUp) => endpointId
  const add = (missing: readonly EndpointWakeUp[]) => addJobs(queue, missing.map(toEndpointJob))
  return await restore({ redis, queue, idOf, add }, wakeUps)
}

function toEndpointJob({ endpointId, inMs, isPutOff }: EndpointWakeUp): NewJob<CallbackJob> {
  return {
    name: isPutOff ? putOffName : 'callback',
    data: callbackJobSchema.parse({ endpointId }),
    opts: { jobId: endpointId, ...(inMs && { delay: inMs }) },
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
  if (wakeUps.length === 0) return 0
  const keys = [queue.toKey('delayed'), queue.toKey('')]
  const states = (await redis.eval(statesScript, 2, ...keys, ...wakeUps.map(idOf))) as (
    | string
    | [score: string, name: string]
  )[]
  const missing = wakeUps.filter((_wakeUp, index) => states[index] === 'missing')
  if (missing.length > 0) await add(missing)
  const late = wakeUps.filter(({ inMs = 0 }, index) => {
    const state = states[index]
    if (!Array.isArray(state)) return false
    const [score, name] = state
    const mayBeLateByMs = name === putOffName ? putOffSlackMs : slackMs
    return Number(score) / delayedScale > Date.now() + inMs + mayBeLateByMs
  })
  // Promoting fails for a job that has become due meanwhile, which is fine.
  const promoted = await Promise.allSettled(
    late.map(async (wakeUp) => {
      const job = await queue.getJob(idOf(wakeUp))
      await (wakeUp.inMs ? job?.changeDelay(wakeUp.inMs) : job?.promote())
    }),
  )
  return missing.length + promoted.filter(({ status }) => status === 'fulfilled').length
}
