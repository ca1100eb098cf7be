import { constants } from 'node:os'
import closeWithGrace from 'close-with-grace'
import { type Logger, logFault } from '../log/logger.ts'
import { guardStderr, printError } from '../log/print-error.ts'
import { flushSpans } from '../log/tracing.ts'
import type { ProcessKind } from '../metrics.ts'
import { startIssue } from './start-issue.ts'

/** SIGHUP comes when the terminal closes; systemd may send it in addition to SIGTERM. */
const endSignals = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const

/** One Ctrl-C arrives twice: the terminal signals the whole process group, and npm or a supervisor forwards the signal. */
const sameSignalWithinMs = 1000

/** How long a process may take to end, from the signal on (docs/reference/processes.md#shutdown). */
export const stopWithinMs = {
  api: 10_000,
  /**
   * Longer than the time limit of a call to a provider or an endpoint, so that each call can end; only an upload of large media
   * over a slow line may take longer. Fetches of media are aborted at once.
   */
  worker: 30_000,
  admin: 5000,
} satisfies Record<ProcessKind, number>

/**
 * Runs an entry point. If it throws, prints the error on stderr and exits with 1. A signal to end exits at once, until the entry
 * point handles it: the first process of a container ignores signals without a handler, and would go on and take work.
 */
export async function runProcess(main: () => Promise<void>): Promise<void> {
  guardStderr()
  for (const signal of endSignals) {
    process.on(signal, () => {
      if (process.listenerCount(signal) === 1) process.exit(128 + constants.signals[signal])
    })
  }
  try {
    await main()
  } catch (error) {
    printError(startIssue(error))
    // Open connections would keep the process alive.
    process.exit(1)
  }
}

/**
 * On a signal or an uncaught exception, runs `close` and exits; after `withinMs` the process exits even if `close` has not
 * finished. Further signals are ignored, because supervisors repeat them, but a SIGINT more than a second after the first
 * signal exits at once. Call it before logging that the process is ready: a supervisor may send a signal from then on.
 */
export function closeOnSignal(log: Logger, withinMs: number, close: () => Promise<void>): void {
  let first: { signal: NodeJS.Signals; at: number } | undefined
  const grace = closeWithGrace(
    { delay: withinMs, logger: false, skip: [...endSignals] },
    async ({ signal = first?.signal, err }) => {
      if (err) {
        logFault(log, 'crashed', err)
        // The log may be unable to take it.
        printError(startIssue(err))
      } else {
        log.info({ event: 'stopping', signal })
      }
      await close()
      await flushSpans()
      log.info({ event: 'stopped' })
    },
  )
  const onSignal = (signal: NodeJS.Signals) => {
    if (first === undefined) {
      first = { signal, at: performance.now() }
      grace.close()
    } else if (signal === 'SIGINT' && performance.now() - first.at > sameSignalWithinMs) {
      log.warn({ event: 'stopped_unfinished', signal })
      process.exit(1)
    }
  }
  for (const signal of endSignals) process.on(signal, onSignal)
}
