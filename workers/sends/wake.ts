import type { WakeUp } from '../../src/core/send-job.ts'
import { restoreWakeUps } from '../../src/queue/queue.ts'
import type { Runtime } from '../../src/runtime.ts'

/** Gives sends their wake-ups, where they have none or a later one; rejects where Redis takes none in time. */
export async function wake(runtime: Runtime, wakeUps: readonly WakeUp[]): Promise<number> {
  if (wakeUps.length === 0) return 0
  return await runtime.throughBreaker(() => restoreWakeUps(runtime, wakeUps))
}
