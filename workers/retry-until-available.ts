import { setTimeout as sleep } from 'node:timers/promises'
import { isConflict, isRowFault, isUnavailable } from '../db/errors.ts'
import { type Logger, logFault, logWarning } from '../src/platform/logger.ts'

const tryAgainEveryMs = 500

/**
 * Makes database work wait for PostgreSQL to come back instead of failing, and go again where it lost against another
 * statement. Around a claim nothing may be given up for such a reason: the send would stay claimed, with nobody at
 * work on it. The work has to be repeatable.
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
        if (isUnavailable(error)) logWarning(log, 'database_away', error)
        else logFault(log, 'database_fault', error)
        await sleep(tryAgainEveryMs)
      }
    }
  }
}
