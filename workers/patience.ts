import { setTimeout as sleep } from 'node:timers/promises'
import { isUnavailable } from '../db/errors.ts'
import { type Logger, logWarning } from '../src/platform/logger.ts'

const tryAgainEveryMs = 500

/**
 * Makes database work wait for PostgreSQL to come back instead of failing: for what must not be given up once a claim
 * is committed, since giving up would mean to claim, and maybe to call the provider, again. The work has to be
 * repeatable.
 */
export function patient<In, Out>(
  log: Logger,
  work: (input: In) => Promise<Out>,
): (input: In) => Promise<Out> {
  return async (input) => {
    for (;;) {
      try {
        return await work(input)
      } catch (error) {
        if (!isUnavailable(error)) throw error
        logWarning(log, 'database_away', error)
        await sleep(tryAgainEveryMs)
      }
    }
  }
}
