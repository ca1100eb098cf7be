import closeWithGrace from 'close-with-grace'
import { isUnavailable } from '../../db/errors.ts'
import { type Logger, logFault } from './logger.ts'
import { safeError } from './safe-error.ts'
import { SettingsError } from './settings.ts'
import { flushSpans } from './tracing.ts'

/** Runs an entry point. What it can't start with is said in plain words on stderr, and the exit code is 1. */
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
 * On SIGTERM, SIGINT or a fault that nobody caught: finishes what was begun, then exits; after `withinMs` it exits
 * with what is left unfinished. A second SIGINT ends it at once; a second SIGTERM changes nothing, since supervisors
 * signal a group whose members pass the signal on. To be called before the process says that it is at work: whoever
 * reads that may signal it.
 */
export function closeOnSignal(log: Logger, withinMs: number, close: () => Promise<void>): void {
  const grace = closeWithGrace(
    { delay: withinMs, logger: false, skip: ['SIGTERM'] },
    async ({ signal = 'SIGTERM', err }) => {
      if (err) logFault(log, 'crashed', err)
      else log.info({ event: 'stopping', signal })
      await close()
      await flushSpans()
      log.info({ event: 'stopped' })
    },
  )
  let isClosing = false
  process.on('SIGTERM', () => {
    if (!isClosing) grace.close()
    isClosing = true
  })
}

function startFault(error: unknown): string {
  if (error instanceof SettingsError) return error.message
  const { message, stack } = safeError(error)
  return isUnavailable(error)
    ? `${message}: check DATABASE_URL, and that PostgreSQL runs`
    : `${message}\n${stack}`
}
