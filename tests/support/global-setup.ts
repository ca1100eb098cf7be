import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { startReaper, startRedis } from '../../src/dev/embedded/index.ts'
import { temporaryFolder } from '../../src/dev/embedded/temporary-folder.ts'
import { startMigratedPostgres } from './migrated-postgres.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    /** A server whose database `postgres` is migrated, to be copied for each test file. */
    postgresUrl: string
    redisUrl: string
  }
}

/** One PostgreSQL and one Redis for a test run; every test file gets a database of its own in both. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = await temporaryFolder()
  const reaper = startReaper()
  const [postgres, redis] = await Promise.all([
    startMigratedPostgres(folder, reaper),
    startRedis({ folder: join(folder, 'redis'), reaper, folderToRemove: folder }),
  ])
  project.provide('postgresUrl', postgres.url)
  project.provide('redisUrl', redis.url)
  return async () => {
    await Promise.all([postgres.stop(), redis.stop()])
    await rm(folder, { recursive: true, force: true })
    await reaper.close()
  }
}
