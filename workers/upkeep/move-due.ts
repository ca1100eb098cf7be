import type { RecordedSend } from '../../db/admission/accepts.ts'
import { moveDueSends, nextDueInMs } from '../../db/admission/scheduled-sends.ts'
import { createTolerantWake, createWakeLanes } from '../../src/queue/wake-sends.ts'
import type { Needs } from '../../src/runtime.ts'
import { type WorkerTimes, workerTimes } from '../worker-times.ts'
import { type PeriodicTask, startPeriodicTask } from './periodic-task.ts'

/** One statement moves so many, and has to end within the time-out of a statement. */
const pageSize = 500
/** While another worker moves, or a send is being canceled, a due send is still there. */
const againAfterMs = 50

/**
 * Lets scheduled sends join the others when their time has come, and wakes them. Every worker does this; PostgreSQL lets one at a
 * time. If their wake-ups can't be added, the reconciler adds them.
 */
export function startMovingDueSends(
  runtime: Needs<'db' | 'log' | 'shards'>,
  { moveDueEveryMs: pauseMs }: Pick<WorkerTimes, 'moveDueEveryMs'> = workerTimes,
): PeriodicTask {
  const { db, log } = runtime
  const wake = createTolerantWake(runtime, 'due_not_woken')
  const lanes = createWakeLanes(runtime)
  /** Not waited for: while Redis is away, sends still join the others in time. */
  let waking: Promise<unknown> = Promise.resolve()
  const wakeAll = async (moved: readonly RecordedSend[]) => {
    await wake(moved)
    for (const { requestId, isBehind } of moved) if (isBehind) void lanes.wakeHeadOf(requestId)
  }
  const task = startPeriodicTask({ log, event: 'move_due_failed', pauseMs }, async () => {
    const dueInMs = (await nextDueInMs(db)) ?? pauseMs
    if (dueInMs > 0) return Math.min(pauseMs, dueInMs)
    const moved = await moveDueSends(db, pageSize)
    // Without a result, since each would keep that of the one before.
    if (moved.length > 0) waking = Promise.all([waking, wakeAll(moved)]).then(() => undefined)
    return moved.length > 0 ? 0 : againAfterMs
  })
  return {
    async stop() {
      await task.stop()
      await waking
    },
  }
}
