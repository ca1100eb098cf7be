import { createLogger, type Logger } from '../log/logger.ts'
import type { ProcessKind } from '../metrics.ts'
import { build } from './build.ts'

/** Creates the log of a process. Its first line says which build of the service it is of. */
export function startLog(kind: ProcessKind | 'migrate', level: string): Logger {
  const log = createLogger(level)
  log.info({ event: 'starting', process: kind, ...build })
  return log
}
