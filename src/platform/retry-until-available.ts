import { setTimeout as sleep } from 'node:timers/promises'
import { isConflict, isRowFault, isUnavailable } from '../../db/connection/errors.ts'
import { databaseCauseFields } from './log/cause-fields.ts'
import { type Logger, logFault, logWarning } from './log/logger.ts'

const tryAgainEveryMs = 500

/**
 * Repeats database work while PostgreSQL is down, or when it conflicts with another statement. If a worker gave up instead, its
 * send would stay claimed without anyone working on it. The work has to be idempotent.
 */
export function retryUntilAvailable<In, Out>(
  log: Logger,
  work: (input: In) => Promise<Out>,
): (input: In) => Promise<Out> {
  return async (input) => {
    for (;;) {
      try {
        return await work(input)
      } catch (error) {
        if (isConflict(error)) continue
        if (isRowFault(error)) throw error
        if (isUnavailable(error)) logWarning(log, 'database_away', error, databaseCauseFields(error))
        else logFault(log, 'database_fault', error)
        await sleep(tryAgainEveryMs)
      }
    }
  }
}
