import { randomBytes } from 'node:crypto'
import { migrateDatabase } from '../../db/migrate.ts'
import { type EmbeddedServers, startEmbedded } from './embedded/index.ts'
import { type ServiceProcess, startService } from './service-process.ts'

/** All that the service needs to run, on this machine. */
export interface Stack {
  apiUrl: string
  environment: Record<string, string>
  processes: ServiceProcess[]
  stop(): Promise<void>
}

export interface StackOptions {
  /** Keeps the data of embedded servers for the next start; without it they are thrown away. */
  folder?: string
  /** In place of the defaults; what the environment says wins over both. */
  settings: Record<string, string>
  onLine?: (line: string) => void
}

const loopback = '127.0.0.0/8,::1/128'

/**
 * Starts PostgreSQL and Redis where `DATABASE_URL` and `REDIS_URL` name none, migrates, and runs one API and one
 * worker. None of it outlives this process, not even when it is killed.
 */
export async function startStack({ folder, settings, onLine }: StackOptions): Promise<Stack> {
  const needs = { postgres: !process.env.DATABASE_URL, redis: !process.env.REDIS_URL }
  const servers = await startEmbedded({ needs, ...(folder !== undefined && { folder }) })
  try {
    const environment = stackEnvironment(servers, settings)
    await migrateDatabase(environment.DATABASE_URL ?? '')
    const common = { environment, reaper: servers.reaper, ...(onLine && { onLine }) }
    const startApi = (changes: Record<string, string> = {}) =>
      startService({
        ...common,
        environment: { ...environment, ...changes },
        entry: 'src/server.ts',
        readyEvent: 'listening',
      })
    const [api, worker] = await Promise.all([
      // Somebody else may have taken the port meanwhile, say the dev of another checkout.
      startApi().catch((error: Error) => {
        if (process.env.PORT || !error.message.includes('EADDRINUSE')) throw error
        return startApi({ PORT: '0' })
      }),
      startService({ ...common, entry: 'workers/main.ts', readyEvent: 'working' }),
    ])
    return {
      apiUrl: `http://127.0.0.1:${api.ready.port}`,
      environment,
      processes: [api, worker],
      async stop() {
        await api.stop()
        await worker.stop()
        await servers.stop()
      },
    }
  } catch (error) {
    await servers.stop()
    throw error
  }
}

function stackEnvironment(
  servers: EmbeddedServers,
  settings: Record<string, string>,
): Record<string, string> {
  const ours: Record<string, string> = {
    HOST: '127.0.0.1',
    PORT: '0',
    METRICS_PORT: '0',
    ALLOWED_PRIVATE_NETWORKS: loopback,
    CREDENTIALS_KEY: randomBytes(32).toString('base64'),
    API_KEY_PEPPER: randomBytes(32).toString('base64'),
    ...settings,
    ...(servers.databaseUrl && { DATABASE_URL: servers.databaseUrl }),
    ...(servers.redisUrl && { REDIS_URL: servers.redisUrl }),
  }
  const theirs = Object.entries(process.env).filter((entry): entry is [string, string] => Boolean(entry[1]))
  // At info at least: a process says in such a line that it is ready.
  const logLevel = /^(trace|debug)$/.test(process.env.LOG_LEVEL ?? '') ? {} : { LOG_LEVEL: 'info' }
  return { ...ours, ...Object.fromEntries(theirs), ...logLevel }
}
