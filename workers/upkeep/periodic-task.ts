import { setTimeout as sleep } from 'node:timers/promises'
import { type Logger, logWarning } from '../../src/platform/logger.ts'
import { safeError } from '../../src/platform/safe-error.ts'

export interface PeriodicTask {
  /** Begins no further round, and resolves when the one under way has ended. */
  stop(): Promise<void>
}

/** What goes on failing for the same reason is logged again after so long. */
const logAgainAfterMs = 60_000

/**
 * Does some work round after round, with a pause in between. A round that fails isn't the last. It is logged under `event`,
 * but not where the one before failed for the same reason.
 *
 * @param round answers with its own pause, in ms, where the usual one doesn't suit.
 */
export function startPeriodicTask(
  options: { log: Logger; event: string; pauseMs: number },
  round: () => Promise<number | undefined>,
): PeriodicTask {
  const { log, event, pauseMs } = options
  const stopping = new AbortController()
  let logged = { reason: '', untilMs: 0 }
  const fail = (error: unknown) => {
    const { message: reason } = safeError(error)
    if (reason === logged.reason && performance.now() < logged.untilMs) return undefined
    logged = { reason, untilMs: performance.now() + logAgainAfterMs }
    logWarning(log, event, error)
    return undefined
  }
  const succeed = (ownPauseMs: number | undefined) => {
    logged = { reason: '', untilMs: 0 }
    return ownPauseMs
  }
  const run = async () => {
    while (!stopping.signal.aborted) {
      const ownPauseMs = await round().then(succeed, fail)
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
