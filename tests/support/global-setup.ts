import { rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { type Reaper, startReaper, startRedis } from '../../src/dev/embedded/index.ts'
import { temporaryFolder } from '../../src/dev/embedded/temporary-folder.ts'
import { startMigratedPostgres } from './migrated-postgres.ts'
import type { Servers } from './servers.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    /** Where the URLs of the servers are written when they are ready, or why they aren't. */
    serversFile: string
  }
}

/** Where a test run notes its servers, once one of its projects has begun to start them. */
const variable = 'SERVERS_FILE'

/**
 * One PostgreSQL and one Redis for a test run; every test file gets a database of its own in both. They start while the
 * first test files are imported (servers.ts).
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const shared = process.env[variable]
  if (shared !== undefined) {
    project.provide('serversFile', shared)
    return async () => {}
  }
  const folder = await temporaryFolder()
  const reaper = startReaper()
  const file = join(folder, 'servers.json')
  process.env[variable] = file
  project.provide('serversFile', file)
  const started = start(folder, reaper)
  const noted = started.then(
    ([postgres, redis]) => note(file, { postgresUrl: postgres.url, redisUrl: redis.url }),
    ({ message }: Error) => note(file, { fault: message }),
  )
  return async () => {
    await noted
    // The tests fail by the fault. The reaper stops a server that was started nevertheless.
    const servers = await started.catch(() => [])
    await Promise.all(servers.map((server) => server.stop()))
    await rm(folder, { recursive: true, force: true })
    await reaper.close()
  }
}

function start(folder: string, reaper: Reaper) {
  return Promise.all([
    startMigratedPostgres(folder, reaper),
    startRedis({ folder: join(folder, 'redis'), reaper, folderToRemove: folder }),
  ])
}

/** Renamed when it is complete: a test may look at any time. */
async function note(file: string, servers: Servers): Promise<void> {
  await writeFile(`${file}.partial`, JSON.stringify(servers))
  await rename(`${file}.partial`, file)
}
