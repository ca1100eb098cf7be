import { readFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { v7 as uuidv7 } from 'uuid'
import { migrateDatabase } from '../../db/migrate.ts'
import {
  dataFolder,
  type Embedded,
  type Reaper,
  startPostgres,
  startRedis,
} from '../../src/dev/embedded/index.ts'
import { portToKeep } from './port.ts'

/** A PostgreSQL and a Redis of a test's own, to be stopped, frozen and emptied. They come back at the same address. */
export interface BreakableServers {
  databaseUrl: string
  redisUrl: string
  stopRedis(): Promise<void>
  /** By SIGKILL: what it hasn't written to its append-only file is gone. */
  killRedis(): Promise<void>
  /** While it is stopped: it comes back empty. */
  deleteRedisFile(): Promise<void>
  startRedis(): Promise<void>
  freezeRedis(): void
  thawRedis(): void
  emptyRedis(): Promise<void>
  /** It becomes a read-only replica: its data stays, and writes are errors. */
  refuseWrites(): Promise<void>
  takeWrites(): Promise<void>
  stopPostgres(): Promise<void>
  /** Immediate shutdown: all it was doing breaks off, and it recovers from its log at the next start. */
  crashPostgres(): Promise<void>
  startPostgres(): Promise<void>
  freezePostgres(): void
  thawPostgres(): void
  stop(): Promise<void>
}

/** @param migrate by default with this build's migrations. */
export async function startBreakableServers(
  reaper: Reaper,
  migrate: (databaseUrl: string) => Promise<unknown> = migrateDatabase,
): Promise<BreakableServers> {
  const folder = await dataFolder(`breakable-${uuidv7()}`)
  const common = { reaper, folderToRemove: folder }
  const start = {
    postgres: (port?: number) => startPostgres({ ...common, folder: join(folder, 'postgres'), ...at(port) }),
    redis: (port?: number) => startRedis({ ...common, folder: join(folder, 'redis'), ...at(port) }),
  }
  let [postgres, redis] = await Promise.all([start.postgres(), start.redis()])
  await migrate(postgres.url)
  const { url: databaseUrl } = postgres
  const { url: redisUrl } = redis
  const askRedis = async (ask: (client: Redis) => Promise<unknown>) => {
    const client = new Redis(redisUrl)
    await ask(client).finally(() => client.disconnect())
  }
  return {
    databaseUrl,
    redisUrl,
    stopRedis: () => redis.stop(),
    killRedis() {
      process.kill(redis.pid, 'SIGKILL')
      return redis.stop()
    },
    deleteRedisFile: () => rm(join(folder, 'redis', 'appendonlydir'), { recursive: true }),
    async startRedis() {
      redis = await start.redis(portOf(redis))
    },
    freezeRedis: () => process.kill(redis.pid, 'SIGSTOP'),
    thawRedis: () => process.kill(redis.pid, 'SIGCONT'),
    emptyRedis: () => askRedis((client) => client.flushall()),
    refuseWrites: () => askRedis((client) => client.replicaof('127.0.0.1', 1)),
    takeWrites: () => askRedis((client) => client.replicaof('NO', 'ONE')),
    stopPostgres: () => postgres.stop(),
    crashPostgres() {
      process.kill(postgres.pid, 'SIGQUIT')
      return postgres.stop()
    },
    async startPostgres() {
      postgres = await start.postgres(portOf(postgres))
    },
    freezePostgres: () => signalTree(postgres.pid, 'SIGSTOP'),
    thawPostgres: () => signalTree(postgres.pid, 'SIGCONT'),
    async stop() {
      await Promise.all([postgres.stop(), redis.stop()])
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** It comes back at the same port, which must not be assigned to another server meanwhile. */
function at(port: number | undefined) {
  return { choosePort: port === undefined ? () => portToKeep() : async () => port }
}

function portOf({ url }: Embedded): number {
  return Number(new URL(url).port)
}

/** PostgreSQL is a process a connection; one may end while it is looked for. */
export function signalTree(pid: number, signal: NodeJS.Signals): void {
  process.kill(pid, signal)
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim()
  for (const child of children.split(' ').filter(Boolean)) {
    try {
      process.kill(Number(child), signal)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
    }
  }
}
