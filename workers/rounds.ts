import { setTimeout as sleep } from 'node:timers/promises'
import { type Logger, logWarning } from '../src/platform/logger.ts'

export interface Rounds {
  /** Begins no further round, and resolves when the one under way has ended. */
  stop(): Promise<void>
}

/**
 * Does some work round after round, with a pause in between. A round that fails is told to the log under `event`, and
 * isn't the last.
 *
 * @param round answers with its own pause, in ms, where the usual one doesn't suit.
 */
export function startRounds(
  options: { log: Logger; event: string; pauseMs: number },
  round: () => Promise<number | undefined>,
): Rounds {
  const { log, event, pauseMs } = options
  const stopping = new AbortController()
  const run = async () => {
    while (!stopping.signal.aborted) {
      const ownPauseMs = await round().catch((error: unknown) => {
        logWarning(log, event, error)
        return undefined
      })
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
