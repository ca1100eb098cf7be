import { build } from './build.ts'
import { createLogger, type Logger } from './logger.ts'
import type { ProcessKind } from './metrics.ts'

/** Creates the log of a process. Its first line says which build of the service it is of. */
export function startLog(kind: ProcessKind | 'migrate', level: string): Logger {
  const log = createLogger(level)
  log.info({ event: 'starting', process: kind, ...build })
  return log
}
