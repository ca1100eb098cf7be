import { addWakeUps } from '../../src/platform/queue.ts'
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
