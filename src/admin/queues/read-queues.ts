import type { Queue } from 'bullmq'
import type { StoreCause } from '../../core/store-causes.ts'
import { Deadline } from '../../platform/deadline.ts'
import { causeFields } from '../../platform/log/cause-fields.ts'
import { logWarning } from '../../platform/log/logger.ts'
import { redisCause } from '../../platform/redis/cause.ts'
import { askRedis } from '../../platform/redis/health.ts'
import { readyWithin } from '../../platform/redis/redis.ts'
import { queuesOf, type Shard } from '../../queue/shard.ts'
import type { AdminRuntime } from '../context.ts'

/** For a process that has just started, and isn't connected yet; and for the answers of a Redis that is away. */
const connectWithinMs = 1000
const answerWithinMs = 1500

export const jobStates = ['waiting', 'prioritized', 'delayed', 'active', 'failed'] as const
export type JobState = (typeof jobStates)[number]

export interface ReadQueue {
  queue: string
  counts: Record<JobState, number>
  /** When the oldest job was added, of those that workers may take now. */
  oldest: Date | undefined
}

/** The queues of a shard, or why they can't be read; the cause may also be that writes don't work. */
export interface ReadShard {
  shard: string
  queues: ReadQueue[] | undefined
  cause: StoreCause | undefined
}

/** One for each queue of a shard, in their order. */
export const descriptions = [
  'Sends within the quota of their account',
  'Sends beyond the quota of their account',
  'Endpoints that have callbacks due',
  'Endpoints in slow start that have callbacks due',
]

/** Reads all queues. A shard that is away keeps no other waiting. */
export function readQueues({ shards, formerShards, log }: AdminRuntime): Promise<ReadShard[]> {
  const read = async (shard: Shard): Promise<ReadShard> => {
    const { name } = shard
    try {
      await readyWithin(shard.redis, connectWithinMs)
      const queues = Promise.all(queuesOf(shard).map(readQueue))
      const read = await new Deadline(answerWithinMs).spend(queues)
      return { shard: name, queues: read, cause: await askRedis(shard) }
    } catch (error) {
      const cause = (await askRedis(shard)) ?? redisCause(error)
      logWarning(log, 'queues_not_read', error, { shard: name, ...causeFields(cause) })
      return { shard: name, queues: undefined, cause }
    }
  }
  return Promise.all([...shards, ...formerShards].map(read))
}

async function readQueue(queue: Pick<Queue, 'name' | 'getJobCounts' | 'getJobs'>): Promise<ReadQueue> {
  const first = (state: 'waiting' | 'prioritized') => queue.getJobs([state], 0, 0, true)
  const [counts, ...firsts] = await Promise.all([
    queue.getJobCounts(...jobStates),
    first('waiting'),
    first('prioritized'),
  ])
  const added = firsts.flat().flatMap((job) => (job ? [job.timestamp] : []))
  return {
    queue: queue.name,
    counts: Object.fromEntries(jobStates.map((state) => [state, counts[state] ?? 0])) as Record<
      JobState,
      number
    >,
    oldest: added.length > 0 ? new Date(Math.min(...added)) : undefined,
  }
}
