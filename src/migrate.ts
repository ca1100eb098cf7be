import { migrateDatabase } from '../db/migrate.ts'
import { createLogger } from './platform/logger.ts'
import { runProcess } from './platform/process.ts'
import { readSettings } from './platform/settings.ts'

await runProcess(async () => {
  const settings = readSettings(['DATABASE_URL', 'LOG_LEVEL'])
  await migrateDatabase(settings.DATABASE_URL)
  createLogger(settings.LOG_LEVEL).info({ event: 'migrated' })
})
