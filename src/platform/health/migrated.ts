import { isMigrated } from '../../../db/migrations.ts'
import { causeLine, postgresCauses } from '../../core/store-causes.ts'
import type { Clients } from '../clients.ts'

const logged = new WeakSet<Clients['log']>()

/** Whether the database has all migrations of this release. If not, logs that, once. */
export async function checkMigrated({ db, log }: Pick<Clients, 'db' | 'log'>): Promise<boolean> {
  if (await isMigrated(db)) return true
  logNotMigrated(log)
  return false
}

/** Logs once in a process that migrations are missing, whichever part of it meets that first. */
export function logNotMigrated(log: Clients['log']): void {
  if (!logged.has(log)) log.error({ event: 'not_migrated', reason: causeLine(postgresCauses.not_migrated) })
  logged.add(log)
}
