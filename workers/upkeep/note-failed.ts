import type { FailedSend } from '../../db/delivery/fail-queued.ts'
import { createWakeEndpoints } from '../../src/queue/wake-endpoints.ts'
import { createTolerantWake, createWakeLanes } from '../../src/queue/wake-sends.ts'
import type { Needs } from '../../src/runtime.ts'
import type { WithFallback } from '../../src/sends/fall-back.ts'
import { createFollowEnd, noteFailure, wakeUpsOf } from '../../src/sends/send-end.ts'

/** Creates the function that logs and counts sends that a periodic task has failed, and wakes what waits for their ends. */
export function createNoteFailed(runtime: Needs<'db' | 'log' | 'metrics' | 'shards'>) {
  const followEnd = createFollowEnd(
    runtime,
    createWakeEndpoints(runtime),
    createWakeLanes(runtime).wakeHeadOf,
  )
  const wake = createTolerantWake(runtime, 'fallback_not_woken')
  return (failed: readonly WithFallback<FailedSend>[]): void => {
    for (const send of failed) noteFailure(runtime, send, followEnd)
    void wake(wakeUpsOf(failed))
  }
}
