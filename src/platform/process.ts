import closeWithGrace from 'close-with-grace'
import { type Logger, logFault } from './logger.ts'
import { startFault } from './start-fault.ts'
import { flushSpans } from './tracing.ts'

/** What asks a process to end. SIGHUP: its terminal has gone; systemd may send it beside SIGTERM. */
const endSignals = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const

/** One Ctrl-C arrives twice where npm or a supervisor passes on what the terminal has given to its whole process group. */
const sameSignalWithinMs = 1000

/** Runs an entry point. A fault that it can't start with is printed on stderr, and the exit code is 1. */
export async function runProcess(main: () => Promise<void>): Promise<void> {
  try {
    await main()
  } catch (error) {
    const text = startFault(error)
    process.stderr.write(`${text}\n`)
    // Connections that are open already would keep it alive.
    process.exit(1)
  }
}

/**
 * On a signal or a fault that nobody caught: finishes what was begun, then exits; after `withinMs` it exits with what is
 * left unfinished. Further signals change nothing, since supervisors repeat them; only a SIGINT that comes more than a
 * second after the first signal ends it at once. To be called before the process says that it is at work: whoever
 * reads that may signal it.
 */
export function closeOnSignal(log: Logger, withinMs: number, close: () => Promise<void>): void {
  let first: { signal: NodeJS.Signals; at: number } | undefined
  const grace = closeWithGrace(
    { delay: withinMs, logger: false, skip: [...endSignals] },
    async ({ signal = first?.signal, err }) => {
      if (err) logFault(log, 'crashed', err)
      else log.info({ event: 'stopping', signal })
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
