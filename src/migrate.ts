import { migrateDatabase } from '../db/migrate.ts'
import { runProcess } from './platform/process/process.ts'
import { startLog } from './platform/process/start-log.ts'
import { readSettings } from './platform/settings/settings.ts'

await runProcess(async () => {
  const settings = readSettings(['DATABASE_URL', 'LOG_LEVEL'])
  const log = startLog('migrate', settings.LOG_LEVEL)
  await migrateDatabase(settings.DATABASE_URL)
  log.info({ event: 'migrated' })
})
