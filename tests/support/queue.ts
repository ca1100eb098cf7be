import { ofSend } from '../../src/platform/redis/shard.ts'
import { addWakeUps } from '../../src/queue/queue.ts'
import type { TestService } from './service.ts'

/** The send's wake-up, in whichever queue it is. */
export async function wakeUpOf({ runtime }: Pick<TestService, 'runtime'>, requestId: string) {
  const { queue, overflow } = ofSend(runtime.shards, requestId)
  return (await queue.getJob(requestId)) ?? (await overflow.getJob(requestId))
}

/** Wakes sends by the ordinary queue. */
export async function wake(
  { runtime }: Pick<TestService, 'runtime'>,
  requestIds: readonly string[],
): Promise<void> {
  const add = (requestId: string) => addWakeUps(ofSend(runtime.shards, requestId), [{ requestId }])
  await Promise.all(requestIds.map(add))
}

/** In which queue the send's wake-up is; undefined: in none. */
export async function queueOf({ runtime }: Pick<TestService, 'runtime'>, requestId: string) {
  const { queue, overflow } = ofSend(runtime.shards, requestId)
  if (await queue.getJob(requestId)) return 'ordinary'
  return (await overflow.getJob(requestId)) ? 'overflow' : undefined
}

/** How many wake-ups there are, in any state. */
export async function wakeUpsLeft({ runtime }: Pick<TestService, 'runtime'>) {
  const count = async (kind: 'queue' | 'overflow') => {
    const counts = runtime.shards.map((shard) =>
      shard[kind].getJobCountByTypes('active', 'waiting', 'delayed', 'prioritized'),
    )
    return (await Promise.all(counts)).reduce((sum, some) => sum + some, 0)
  }
  return { ordinary: await count('queue'), overflow: await count('overflow') }
}

/** Redis loses the wake-up of the send. */
export async function loseWakeUp(service: Pick<TestService, 'runtime'>, requestId: string): Promise<void> {
  await (await wakeUpOf(service, requestId))?.remove()
}

/** Redis loses all that it has. */
export async function loseWakeUps({ runtime }: Pick<TestService, 'runtime'>): Promise<void> {
  await Promise.all(runtime.shards.map(({ redis }) => redis.flushdb()))
}

/** How many wake-ups of a queue are in this state. */
export async function countOf(
  { runtime }: Pick<TestService, 'runtime'>,
  kind: 'queue' | 'overflow',
  state: 'active' | 'waiting' | 'delayed',
): Promise<number> {
  const counts = await Promise.all(runtime.shards.map((shard) => shard[kind].getJobCountByTypes(state)))
  return counts.reduce((sum, some) => sum + some, 0)
}
