import { setTimeout as sleep } from 'node:timers/promises'
import { lacksMigration } from '../../db/connection/errors.ts'
import { logNotMigrated } from '../../src/platform/health/migrated.ts'
import { databaseCauseFields } from '../../src/platform/log/cause-fields.ts'
import { type Logger, logWarning } from '../../src/platform/log/logger.ts'
import { safeError } from '../../src/platform/log/safe-error.ts'

export interface PeriodicTask {
  /** Starts no further run, and resolves when the current one has ended. */
  stop(): Promise<void>
}

/** A task that keeps failing for the same reason is logged again after this long. */
const logAgainAfterMs = 60_000

/**
 * Runs some work repeatedly, with a pause in between. A failed run is logged as `event`, unless the run before failed for the
 * same reason, and the task goes on. Missing migrations are logged once in a process, as they stop every task.
 *
 * @param work returns the pause before the next run, in ms; undefined for `pauseMs`.
 */
export function startPeriodicTask(
  options: { log: Logger; event: string; pauseMs: number },
  work: () => Promise<number | undefined>,
): PeriodicTask {
  const { log, event, pauseMs } = options
  const stopping = new AbortController()
  let logged = { reason: '', untilMs: 0 }
  const fail = (error: unknown) => {
    if (lacksMigration(error)) {
      logNotMigrated(log)
      return undefined
    }
    const { message: reason } = safeError(error)
    if (reason === logged.reason && performance.now() < logged.untilMs) return undefined
    logged = { reason, untilMs: performance.now() + logAgainAfterMs }
    logWarning(log, event, error, databaseCauseFields(error))
    return undefined
  }
  const succeed = (ownPauseMs: number | undefined) => {
    logged = { reason: '', untilMs: 0 }
    return ownPauseMs
  }
  const run = async () => {
    while (!stopping.signal.aborted) {
      const ownPauseMs = await work().then(succeed, fail)
      await sleep(ownPauseMs ?? pauseMs, undefined, { signal: stopping.signal }).catch(() => {})
    }
  }
  const ended = run()
  return {
    async stop() {
      stopping.abort()
      await ended
    },
  }
}
