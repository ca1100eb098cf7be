import { connectionFault } from '../../db/connection-faults.ts'
import type { Clients } from './clients.ts'
import { Deadline } from './deadline.ts'
import { logWarning } from './logger.ts'

/** Through a pooler the check takes about 20 round trips (db/pooler.ts); where it ended later, the process would start. */
const waitForDatabaseMs = 5000

/**
 * Opens a first connection to PostgreSQL. A process starts while PostgreSQL is away; the line in its log names the setting,
 * in case that is what is wrong.
 *
 * @throws where only an operator can make a connection possible (db/connection-faults.ts).
 */
export async function checkDatabase({ db, log }: Pick<Clients, 'db' | 'log'>): Promise<void> {
  try {
    await new Deadline(waitForDatabaseMs, 'PostgreSQL').spend(db.$client.query('select 1'))
  } catch (error) {
    if (connectionFault(error) !== undefined) throw error
    logWarning(log, 'database_away', error, { check: 'DATABASE_URL, and that PostgreSQL runs' })
  }
}
