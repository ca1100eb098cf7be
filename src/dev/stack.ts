import { randomBytes } from 'node:crypto'
import { migrateDatabase } from '../../db/migrate.ts'
import { freePort } from './embedded/free-port.ts'
import { type EmbeddedServers, startEmbedded } from './embedded/index.ts'
import { type ServiceProcess, startService } from './service-process.ts'

/** The whole service with PostgreSQL and Redis, on this machine. */
export interface Stack<Prepared = unknown> {
  /** The result of `prepare`. */
  prepared: Prepared
  apiUrl: string
  /** Only with the option `adminPort`. */
  adminUrl?: string
  environment: Record<string, string>
  processes: ServiceProcess[]
  stop(): Promise<void>
}

export interface StackOptions<Prepared> {
  /** Keeps the data of embedded servers for the next start. Without it, the data is removed in the end. */
  folder?: string
  /** Whether to start a Redis Cluster in place of one Redis. */
  isCluster?: boolean
  /** The API's port. Default: a free one. */
  port?: number
  /** The admin process's port. Without it, no admin process is started. */
  adminPort?: number
  /** Replaces default settings. The environment's own settings win over both. */
  settings: Record<string, string>
  onLine?: (line: string) => void
  /** Runs before any process of the service starts, with the processes' environment. */
  prepare: (environment: Record<string, string>) => Promise<Prepared>
}

const loopback = '127.0.0.0/8,::1/128'

/**
 * Starts PostgreSQL and Redis unless `DATABASE_URL` and `REDIS_URL` are set, migrates, and runs one API, one worker and
 * optionally one admin process. All of them end with this process, even if it is killed.
 */
export async function startStack<Prepared>(options: StackOptions<Prepared>): Promise<Stack<Prepared>> {
  const { folder, isCluster, port, adminPort, settings, onLine, prepare } = options
  const neededRedis = isCluster ? ('cluster' as const) : true
  const needs = { postgres: !process.env.DATABASE_URL, redis: !process.env.REDIS_URL && neededRedis }
  const servers = await startEmbedded({ needs, ...(folder !== undefined && { folder }) })
  try {
    const start = (entry: string, readyEvent: string, environment: Record<string, string>) =>
      startService({ entry, readyEvent, environment, reaper: servers.reaper, ...(onLine && { onLine }) })
    const planned = stackEnvironment(
      servers,
      settings,
      process.env.PORT || String(port ?? (await freePort())),
    )
    await migrateDatabase(planned.DATABASE_URL ?? '')
    const prepared = await prepare(planned)
    const api = await atItsPortOrAFreeOne('PORT', planned, (at) => start('src/server.ts', 'listening', at))
    const apiUrl = `http://127.0.0.1:${api.ready.port}`
    // Providers fetch media from the port at which the API really listens.
    const environment = {
      ...planned,
      PUBLIC_BASE_URL: process.env.PUBLIC_BASE_URL || apiUrl,
      METRICS_PORT: '0',
    }
    const adminEnvironment = { ADMIN_PORT: String(adminPort), ...environment }
    const [worker, admin] = await Promise.all([
      start('workers/main.ts', 'working', environment),
      adminPort === undefined
        ? undefined
        : atItsPortOrAFreeOne('ADMIN_PORT', adminEnvironment, (at) =>
            start('src/admin/main.ts', 'serving_admin', at),
          ),
    ])
    return {
      prepared,
      apiUrl,
      ...(admin && { adminUrl: `http://127.0.0.1:${admin.ready.adminPort}` }),
      environment,
      processes: [api, worker, ...(admin ? [admin] : [])],
      async stop() {
        await api.stop()
        await worker.stop()
        await admin?.stop()
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
  port: string,
): Record<string, string> {
  const ours: Record<string, string> = {
    NODE_ENV: 'development',
    HOST: '127.0.0.1',
    PORT: port,
    PUBLIC_BASE_URL: `http://127.0.0.1:${port}`,
    METRICS_PORT: '0',
    ALLOWED_PRIVATE_NETWORKS: loopback,
    CLIENT_PRIVATE_NETWORKS: loopback,
    CREDENTIALS_KEY: randomBytes(32).toString('base64'),
    API_KEY_PEPPER: randomBytes(32).toString('base64'),
    ...settings,
    ...(servers.databaseUrl && { DATABASE_URL: servers.databaseUrl }),
    ...(servers.redisUrl && { REDIS_URL: servers.redisUrl }),
  }
  const theirs = Object.entries(process.env).filter((entry): entry is [string, string] => Boolean(entry[1]))
  // At least info, because a process logs at info that it is ready.
  const logLevel = /^(trace|debug)$/.test(process.env.LOG_LEVEL ?? '') ? {} : { LOG_LEVEL: 'info' }
  return { ...ours, ...Object.fromEntries(theirs), ...logLevel }
}

/** Another process may have taken the port since it was found free, for example `npm run dev` of another checkout. */
async function atItsPortOrAFreeOne<Started>(
  port: 'PORT' | 'ADMIN_PORT',
  environment: Record<string, string>,
  start: (environment: Record<string, string>) => Promise<Started>,
): Promise<Started> {
  return await start(environment).catch((error: Error) => {
    if (process.env[port] || !error.message.includes('EADDRINUSE')) throw error
    return start({ ...environment, [port]: '0' })
  })
}
