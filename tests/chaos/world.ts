import { createWriteStream } from 'node:fs'
import { v7 as uuidv7 } from 'uuid'
import { createChannel } from '../../db/accounts/channels.ts'
import { connectDatabase, type Database } from '../../db/connection/client.ts'
import { migrateDatabase } from '../../db/migrate.ts'
import { sealConfig } from '../../src/core/channels/sealed-config.ts'
import type { OnUncertain } from '../../src/core/sends/outcome.ts'
import { type Reaper, startReaper } from '../../src/dev/embedded/index.ts'
import { seedDemoAccount } from '../../src/dev/world/seed.ts'
import { type BreakableServers, startBreakableServers } from '../support/breakable-servers.ts'
import { type MovableClocks, movableClocks } from '../support/moved-clock.ts'
import { startClusterServers } from '../support/redis-cluster.ts'
import { testSecrets } from '../support/service.ts'
import { type Fleet, startFleet } from './fleet.ts'
import { buildOf, formerSeed, migrateWith } from './former-build.ts'
import { type RecordingProvider, startProvider } from './provider.ts'

/** All participants: real processes and stores, and a recording provider. */
export interface World {
  fleet: Fleet
  servers: BreakableServers
  /** The one Redis of `servers`, or the Cluster. */
  redisUrl: string
  reaper: Reaper
  provider: RecordingProvider
  /** The clocks of the fleet's processes. */
  clocks: MovableClocks
  db: Database
  apiKey: string
  /** Attempts per send. */
  attempts: number
  /** Creates a channel whose messages go to this path of the provider. */
  openChannel(path: string, onUncertain: OnUncertain): Promise<string>
  stop(): Promise<void>
}

/** The Redis of the processes: one, or a Cluster. */
export type StoreKind = 'redis' | 'cluster'

export interface WorldOptions {
  /** How many calls a worker process makes at once. */
  slotsPerWorker: number
  providerTimeoutSeconds: number
  store: StoreKind
  /** File for the logs of all processes. */
  logFile?: string | undefined
  /** The folder of an earlier build's checkout, which the database and the processes begin with. */
  former?: string | undefined
}

const retryDelaysSeconds = [1, 1, 1, 1, 1, 1, 1]
/** More than the faults last. */
const callbackDelaysSeconds = Array.from({ length: 100 }, () => 1)
const size = { api: 2, worker: 2 }
export const webhookSecret = `whsec_${Buffer.alloc(32, 5).toString('base64')}`

export async function startWorld(options: WorldOptions): Promise<World> {
  const reaper = startReaper()
  const stops: (() => unknown)[] = [() => reaper.close()]
  let stopped: Promise<void> | undefined
  const stop = () => {
    stopped ??= endAll(stops)
    return stopped
  }
  try {
    return { ...(await openWorld(options, reaper, stops)), stop }
  } catch (error) {
    await stop()
    throw error
  }
}

/** @param stops gets a function that stops each part, as soon as the part is started. */
async function openWorld(options: WorldOptions, reaper: Reaper, stops: (() => unknown)[]) {
  const servers = await startBreakableServers(
    reaper,
    options.former === undefined ? migrateDatabase : migrateWith(options.former),
  )
  stops.push(() => stopServers(servers))
  const cluster =
    options.store === 'cluster' ? await startClusterServers(reaper, { withReplicas: false }) : undefined
  if (cluster) stops.push(cluster.stop)
  const redisUrl = cluster?.redisUrl ?? servers.redisUrl
  const provider = await startProvider(reaper)
  stops.push(provider.stop)
  const clocks = await movableClocks()
  stops.push(clocks.stop)
  const environment = environmentOf(servers.databaseUrl, redisUrl, options)
  const db = connectDatabase(servers.databaseUrl, {
    poolSize: 2,
    queryTimeoutMs: 5000,
    onConnectionLost: () => {},
  })
  // The service waits a second for a connection. The ledgers are read whatever the load of the machine is.
  db.$client.options.connectionTimeoutMillis = 30_000
  stops.push(() => db.$client.end())
  const seed = options.former === undefined ? seedDemoAccount : await formerSeed(options.former)
  const { accountId, apiKey } = await seed(environment)
  const onLine = options.logFile === undefined ? undefined : createWriteLine(options.logFile)
  const fleet = await startFleet({
    environment: { ...environment, ...clocks.environment },
    reaper,
    size,
    onLine,
    build: options.former && buildOf(options.former),
  })
  stops.push(fleet.stop)

  const openChannel = async (path: string, onUncertain: OnUncertain) => {
    const id = uuidv7()
    const config = { url: provider.urlOf(path), secret: webhookSecret }
    const sealedConfig = sealConfig(config, id, Buffer.from(testSecrets.CREDENTIALS_KEY, 'base64'))
    await createChannel(db, { id, accountId, provider: 'webhook', name: path, sealedConfig, onUncertain })
    return id
  }
  return {
    fleet,
    servers,
    redisUrl,
    reaper,
    provider,
    clocks,
    db,
    apiKey,
    attempts: retryDelaysSeconds.length + 1,
    openChannel,
  }
}

function environmentOf(databaseUrl: string, redisUrl: string, options: WorldOptions): Record<string, string> {
  return {
    ...testSecrets,
    DATABASE_URL: databaseUrl,
    REDIS_URL: redisUrl,
    HOST: '127.0.0.1',
    PORT: '0',
    METRICS_PORT: '0',
    RATE_LIMIT_POINTS: '1000000',
    ALLOWED_PRIVATE_NETWORKS: '127.0.0.0/8',
    CLIENT_PRIVATE_NETWORKS: '127.0.0.0/8',
    RETRY_DELAYS_SECONDS: retryDelaysSeconds.join(','),
    CALLBACK_RETRY_DELAYS_SECONDS: callbackDelaysSeconds.join(','),
    WORKER_CONCURRENCY: String(options.slotsPerWorker),
    PROVIDER_TIMEOUT_SECONDS: String(options.providerTimeoutSeconds),
    LOG_LEVEL: 'info',
  }
}

/** Stops the parts in reverse order. */
async function endAll(ends: (() => unknown)[]): Promise<void> {
  for (const end of ends.reverse()) await end()
}

/** Thaws the servers first: one that an aborted phase left frozen couldn't stop. */
async function stopServers(servers: BreakableServers): Promise<void> {
  for (const thaw of [servers.thawRedis, servers.thawPostgres]) {
    try {
      thaw()
    } catch {}
  }
  await servers.stop()
}

function createWriteLine(file: string): (line: string) => void {
  const stream = createWriteStream(file)
  return (line) => stream.write(`${line}\n`)
}
