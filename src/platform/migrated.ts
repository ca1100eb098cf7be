import { isMigrated } from '../../db/migrations.ts'
import type { Clients } from './clients.ts'

const logged = new WeakSet<Clients['db']>()

/** Whether the database has all migrations of this release. If not, logs that, once. */
export async function checkMigrated({ db, log }: Pick<Clients, 'db' | 'log'>): Promise<boolean> {
  if (await isMigrated(db)) return true
  if (!logged.has(db))
    log.error({ event: 'not_migrated', reason: 'PostgreSQL lacks migrations of this release: run migrate' })
  logged.add(db)
  return false
}
