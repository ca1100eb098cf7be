import { addWakeUps, type SendQueue } from '../../src/queue/queue.ts'
import type { TestService } from './service.ts'

/** The send's wake-up, in whichever queue it is. */
export async function wakeUpOf({ runtime }: Pick<TestService, 'runtime'>, requestId: string) {
  return (await runtime.queue.getJob(requestId)) ?? (await runtime.overflow.getJob(requestId))
}

/** Wakes sends by the ordinary queue. */
export function wake(
  { runtime }: Pick<TestService, 'runtime'>,
  requestIds: readonly string[],
): Promise<void> {
  return addWakeUps(
    runtime,
    requestIds.map((requestId) => ({ requestId })),
  )
}

/** In which queue the send's wake-up is; undefined: in none. */
export async function queueOf({ runtime }: Pick<TestService, 'runtime'>, requestId: string) {
  if (await runtime.queue.getJob(requestId)) return 'ordinary'
  return (await runtime.overflow.getJob(requestId)) ? 'overflow' : undefined
}

/** How many wake-ups there are, in any state. */
export async function wakeUpsLeft({ runtime }: Pick<TestService, 'runtime'>) {
  const count = (queue: SendQueue) => queue.getJobCountByTypes('active', 'waiting', 'delayed', 'prioritized')
  return { ordinary: await count(runtime.queue), overflow: await count(runtime.overflow) }
}
