import type { TestProject } from 'vitest/node'
import { migrateDatabase } from '../../db/migrate.ts'
import { startEmbedded } from '../../src/dev/embedded/index.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    /** A server whose database `postgres` is migrated, to be copied for each test file. */
    postgresUrl: string
    redisUrl: string
  }
}

/** One PostgreSQL and one Redis for a test run; every test file gets a database of its own in both. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const servers = await startEmbedded({ needs: { postgres: true, redis: true } })
  const { databaseUrl = '', redisUrl = '' } = servers
  await migrateDatabase(databaseUrl)
  project.provide('postgresUrl', databaseUrl)
  project.provide('redisUrl', redisUrl)
  return servers.stop
}
