import type { WakeUp } from '../../src/core/send-job.ts'
import { restoreWakeUps } from '../../src/queue/queue.ts'
import type { Needs } from '../../src/runtime.ts'

/** What waking a send takes. */
export type Queues = Needs<'redis' | 'queue' | 'overflow' | 'throughBreaker'>

/** Gives sends their wake-ups, where they have none or a later one; rejects where Redis takes none in time. */
export async function wake(queues: Queues, wakeUps: readonly WakeUp[]): Promise<number> {
  if (wakeUps.length === 0) return 0
  return await queues.throughBreaker(() => restoreWakeUps(queues, wakeUps))
}
