import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { createAccount } from '../../db/accounts/accounts.ts'
import { connectDatabase, type Database } from '../../db/connection/client.ts'
import { migrateDatabase } from '../../db/migrate.ts'
import { permissions } from '../../src/core/accounts/api-key.ts'
import type { OnUncertain } from '../../src/core/sends/outcome.ts'
import { type Reaper, startEmbedded, startRedisCluster } from '../../src/dev/embedded/index.ts'
import { temporaryFolder } from '../../src/dev/embedded/temporary-folder.ts'
import { readSettings } from '../../src/platform/settings/settings.ts'
import { buildKey, buildWebhookChannel, type Registry } from '../support/builders.ts'
import { buildProviderChannel } from '../support/provider-channel.ts'
import { testSecrets } from '../support/service.ts'
import { type Client, openClient, type Sender } from './post.ts'
import { type Program, programs, startProgram } from './program.ts'
import { openProvider, type Provider } from './provider.ts'

/** The service as in production: separate processes on their own stores, PostgreSQL with fsync, Redis with an AOF. */
export interface Stage {
  db: Database
  databaseUrl: string
  redis: Redis
  /** Connections to each master of a Cluster; else that one. */
  redisNodes: readonly Redis[]
  /** A folder for files, removed when the stage closes. */
  folder: string
  api: StartedApi
  client: Client
  provider: Provider
  workers(): readonly Program[]
  /** Starts another API, or a variant of it, on the same stores. @returns its address. */
  startApi(program: ApiProgram): Promise<StartedApi>
  /** Starts another program, which ends with the stage. */
  start(name: keyof typeof programs, more?: Record<string, string>): Promise<Program>
  openAccount(): Promise<Tenant>
  /** @param path that a bare worker calls: it reads no channels. */
  startWorkers(count: number, program?: WorkerProgram, path?: string): Promise<void>
  killWorker(worker: Program): Promise<void>
  /** Ends the workers and removes all sends, so that each measurement begins in the same state. Accounts and channels stay. */
  clear(): Promise<void>
  close(): Promise<void>
}

export interface StartedApi {
  url: string
  program: Program
}

export type WorkerProgram = 'worker' | 'plainWorker' | 'usualWorker' | 'bareWorker'
export type ApiProgram = 'api' | 'usualApi' | 'recordlessApi' | 'watchedApi' | 'wholeJobApi' | 'echo'

/** An account without an effective rate limit. */
export interface Tenant {
  /** @param path of the provider, which determines how it answers the channel's calls. */
  openChannel(path: string, onUncertain?: OnUncertain): Promise<Sender>
  /** Opens a channel with WhatsApp's API. */
  openWhatsApp(path: string): Promise<Sender>
  /** Opens a channel for mail. */
  openMail(): Promise<Sender>
}

const kept = ['accounts', 'api_keys', 'channels', 'endpoints', 'flows', 'suppressions', 'templates']

export interface StageOptions {
  /** Masters of a Redis Cluster with as many shards. Default: one Redis. */
  masters?: number
}

export async function openStage(options: StageOptions = {}): Promise<Stage> {
  const ends: (() => unknown)[] = []
  const close = async () => {
    for (const end of ends.reverse()) await end()
  }
  try {
    return { ...(await openParts(ends, options)), close }
  } catch (error) {
    await close()
    throw error
  }
}

/** @param ends gets a function that ends each part, as soon as the part is started. */
async function openParts(ends: (() => unknown)[], { masters }: StageOptions): Promise<Omit<Stage, 'close'>> {
  const servers = await startEmbedded({ needs: { postgres: true, redis: masters === undefined } })
  ends.push(servers.stop)
  const cluster = masters === undefined ? undefined : await startCluster(masters, servers.reaper, ends)
  // In memory if there is such a folder, so that logs don't share the disk with the stores.
  const folder = await mkdtemp(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'bench-'))
  ends.push(() => rm(folder, { recursive: true, force: true }))
  const redisUrl = cluster?.url ?? String(servers.redisUrl)
  const environment = {
    ...environmentOf(String(servers.databaseUrl), redisUrl),
    ...(masters !== undefined && { QUEUE_SHARDS: String(masters) }),
  }
  const settings = readSettings(undefined, environment)
  await migrateDatabase(settings.DATABASE_URL)
  const db = connectDatabase(settings.DATABASE_URL, {
    poolSize: 4,
    queryTimeoutMs: 60_000,
    onConnectionLost: () => {},
  })
  ends.push(() => db.$client.end())
  const redisNodes = (cluster?.masters ?? [{ url: redisUrl }]).map(({ url }) => new Redis(url))
  ends.push(() => redisNodes.forEach((node) => void node.disconnect()))
  const [redis] = redisNodes as [Redis]

  const start = async (name: keyof typeof programs, more: Record<string, string> = {}) => {
    const { reaper } = servers
    const program = await startProgram({
      program: programs[name],
      environment: { ...environment, ...more },
      reaper,
      folder,
    })
    ends.push(program.kill)
    return program
  }
  const startApi = async (name: ApiProgram): Promise<StartedApi> => {
    const program = await start(name)
    return { url: `http://127.0.0.1:${program.ready.port}`, program }
  }
  const [api, providerProgram] = await Promise.all([startApi('api'), start('provider')])
  const provider = openProvider(providerProgram)
  ends.push(provider.close)
  const client = openClient(api.url)
  ends.push(client.close)

  const workers = new Set<Program>()
  const killWorker = async (worker: Program) => {
    workers.delete(worker)
    await worker.kill()
  }
  return {
    db,
    databaseUrl: settings.DATABASE_URL,
    redis,
    redisNodes,
    folder,
    api,
    client,
    provider,
    workers: () => [...workers],
    startApi,
    start,
    openAccount: () => openAccount({ runtime: { db, settings } }, provider),
    async startWorkers(count, program = 'worker', path = '/accept/bare') {
      const more = program === 'bareWorker' ? { PUBLIC_BASE_URL: provider.urlOf(path) } : {}
      const started = Array.from({ length: count }, () => start(program, more))
      for (const worker of await Promise.all(started)) workers.add(worker)
    },
    killWorker,
    async clear() {
      await Promise.all([...workers].map(killWorker))
      await emptyTables(db)
      await Promise.all(redisNodes.map((node) => node.flushdb()))
      await provider.forget()
      // So that the data of one measurement isn't written to disk during the next.
      await db.$client.query('checkpoint')
    },
  }
}

async function startCluster(masters: number, reaper: Reaper, ends: (() => unknown)[]) {
  const folder = await temporaryFolder()
  ends.push(() => rm(folder, { recursive: true, force: true }))
  const cluster = await startRedisCluster(
    { folder: join(folder, 'node'), reaper, folderToRemove: folder },
    masters,
  )
  ends.push(cluster.stop)
  return cluster
}

function environmentOf(databaseUrl: string, redisUrl: string): Record<string, string> {
  return {
    ...testSecrets,
    DATABASE_URL: databaseUrl,
    REDIS_URL: redisUrl,
    HOST: '127.0.0.1',
    PORT: '0',
    METRICS_PORT: '0',
    ALLOWED_PRIVATE_NETWORKS: '127.0.0.0/8',
    CLIENT_PRIVATE_NETWORKS: '127.0.0.0/8',
    NODE_ENV: 'production',
  }
}

async function openAccount(registry: Registry, provider: Provider): Promise<Tenant> {
  const rateLimit = { points: 1_000_000_000, seconds: 1 }
  const accountId = await createAccount(registry.runtime.db, 'Bench', rateLimit)
  const { apiKey } = await buildKey(registry, accountId, { permissions: [...permissions] })
  return {
    async openChannel(path, onUncertain = 'resend') {
      const url = provider.urlOf(path)
      return { apiKey, channelId: await buildWebhookChannel(registry, accountId, url, onUncertain) }
    },
    async openWhatsApp(path) {
      const config = { phoneNumberId: '1', accessToken: 'bench', baseUrl: provider.urlOf(path) }
      return { apiKey, channelId: await buildProviderChannel(registry, accountId, 'whatsapp-cloud', config) }
    },
    async openMail() {
      const config = { host: '127.0.0.1', port: provider.mailPort, from: 'bench@example.org' }
      return { apiKey, channelId: await buildProviderChannel(registry, accountId, 'smtp', config) }
    },
  }
}

async function emptyTables(db: Database): Promise<void> {
  const { rows } = await db.$client.query<{ name: string }>(
    `select quote_ident(tablename) as name from pg_tables where schemaname = 'public' and tablename <> all($1)`,
    [kept],
  )
  await db.$client.query(`truncate ${rows.map(({ name }) => name).join(', ')}`)
}
