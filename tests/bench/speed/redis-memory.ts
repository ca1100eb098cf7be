import { setTimeout as sleep } from 'node:timers/promises'
import { keyPrefix, overflowQueueName, queueName } from '../../../src/core/sends/send-job.ts'
import { createQueue } from '../../../src/queue/queue.ts'
import { alternate } from '../benchmark.ts'
import type { Figure } from '../figures.ts'
import type { Post } from '../post.ts'
import { inTurn, openAccounts, openChannels } from '../senders.ts'
import { openStage, type Stage } from '../stage.ts'
import type { Case } from './case.ts'
import { atMost } from './ratio.ts'

/** Within the quota of a channel in the ordinary queue, and with few channels also within the account's. */
const sendsOfChannel = 15
const bounds = { floor: 1024, aim: 600 }
/** The rate limits' counts expire after a second, and Redis needs a moment more to free their memory. */
const settleMs = 3000
/** Not all sends of one account are overflow: those accepted at once are within the quota before any of them is counted. */
const leastInQueue = 0.95

/** Memory of a send in Redis without a worker, in the ordinary queue and in the overflow. */
export const redisMemory: Case = {
  name: 'redis-memory',
  async measure({ runs, sizes, print }) {
    const stage = await openStage()
    try {
      const tenants = await openAccounts(stage, sizes.accounts)
      const channelsOfEach = Math.ceil(sizes.queued / sizes.accounts / sendsOfChannel)
      const ofEach = Array.from({ length: channelsOfEach }, () => tenants).flat()
      const senders = await openChannels(ofEach, '/accept/speed')
      const crowd = () => inTurn(senders, Math.ceil(sizes.queued / senders.length)).slice(0, sizes.queued)
      const flood = () => inTurn(senders.slice(0, 1), sizes.queued)

      const measure = (figure: Figure, queue: string, posts: () => Post[]) => async () => {
        figure.values.push(await bytesPerSend(stage, queue, posts()))
        print(`redis-memory: ${queue}: ${figure.values.at(-1)?.toFixed(0)} B`)
      }
      const ordinary: Figure = { variant: 'a send', unit: ' B', values: [] }
      const overflow: Figure = { variant: 'a send', unit: ' B', values: [] }
      await alternate(runs, [
        measure(ordinary, queueName, crowd),
        measure(overflow, overflowQueueName, flood),
      ])
      const count = sizes.queued.toLocaleString('en')
      return [
        atMost('redis-memory', `${count} waiting in the ordinary queue`, ordinary, bounds),
        atMost('redis-memory', `${count} of one account, waiting in the overflow`, overflow, bounds),
      ]
    } finally {
      await stage.close()
    }
  },
}

/** @param queue that has to contain the sends at the end, or the measurement is invalid. */
async function bytesPerSend(stage: Stage, queue: string, posts: readonly Post[]): Promise<number> {
  await stage.clear()
  const before = await usedMemory(stage)
  await stage.client.postAll(posts)
  const after = await usedMemory(stage)
  const queued = await createQueue(queue, keyPrefix, stage.redis).getJobCountByTypes('waiting', 'prioritized')
  if (queued < posts.length * leastInQueue) throw new Error(`only ${queued} of the sends are in ${queue}`)
  return (after - before) / posts.length
}

async function usedMemory({ redis }: Stage): Promise<number> {
  await sleep(settleMs)
  return Number(/^used_memory:(\d+)/m.exec(await redis.info('memory'))?.[1])
}
