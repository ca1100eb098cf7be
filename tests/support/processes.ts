import { appendFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connectDatabase } from '../../db/connection/client.ts'
import { startReaper } from '../../src/dev/embedded/index.ts'
import { type ServiceProcess, startService } from '../../src/dev/service-process.ts'
import type { Registry } from './builders.ts'
import { testSecrets } from './service.ts'
import { freshStores, type Stores } from './stores.ts'
import { eventually } from './wait.ts'

/** One API, one worker and one admin process, as in production, with stores of their own. */
export interface TestProcesses extends Registry {
  /** The API's. */
  url: string
  adminUrl: string
  stores: Stores
  /** The lines that each process has logged. */
  logFiles: string[]
  stop(): Promise<void>
}

/** @param settings by their names in the environment, over defaults that suit tests. */
export async function startTestProcesses(settings: Record<string, string> = {}): Promise<TestProcesses> {
  const stores = await freshStores()
  const reaper = startReaper()
  const folder = await mkdtemp(join(tmpdir(), 'processes-'))
  const environment = { ...testEnvironment(stores), ...settings }
  const logFiles: string[] = []

  const start = async (name: string, entry: string, readyEvent: string): Promise<ServiceProcess> => {
    const file = join(folder, `${name}.log`)
    logFiles.push(file)
    await writeFile(file, '')
    const onLine = (line: string) => appendFileSync(file, `${line}\n`)
    return await startService({ entry, readyEvent, environment, reaper, onLine })
  }
  const [api, worker, admin] = await Promise.all([
    start('api', 'src/server.ts', 'listening'),
    start('worker', 'workers/main.ts', 'working'),
    start('admin', 'src/admin/main.ts', 'serving_admin'),
  ])
  const adminUrl = `http://127.0.0.1:${admin.ready.adminPort}`
  // Its first page waits for its first connection.
  await eventually('the admin process', async () => (await fetch(`${adminUrl}/readyz`)).ok)
  const db = connectDatabase(stores.databaseUrl, {
    poolSize: 1,
    queryTimeoutMs: 10_000,
    onConnectionLost: () => {},
  })
  const { API_KEY_PEPPER, CREDENTIALS_KEY } = testSecrets
  return {
    url: `http://127.0.0.1:${api.ready.port}`,
    adminUrl,
    stores,
    logFiles,
    runtime: { db, settings: { API_KEY_PEPPER, CREDENTIALS_KEY: Buffer.from(CREDENTIALS_KEY, 'base64') } },
    async stop() {
      await Promise.all([api, worker, admin].map((process) => process.stop()))
      await db.$client.end()
      await reaper.close()
      await rm(folder, { recursive: true })
    },
  }
}

function testEnvironment({ databaseUrl, redisUrl }: Stores): Record<string, string> {
  return {
    ...testSecrets,
    DATABASE_URL: databaseUrl,
    REDIS_URL: redisUrl,
    DATABASE_POOL_SIZE: '4',
    HOST: '127.0.0.1',
    PORT: '0',
    METRICS_PORT: '0',
    ADMIN_PORT: '0',
    ALLOWED_PRIVATE_NETWORKS: '127.0.0.0/8',
    CLIENT_PRIVATE_NETWORKS: '127.0.0.0/8',
    RETRY_DELAYS_SECONDS: '0,0,0',
    LOG_LEVEL: 'info',
  }
}
