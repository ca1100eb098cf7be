import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { dataFolder } from './cache-folder.ts'
import { startPostgres } from './postgres.ts'
import { type Reaper, startReaper } from './reaper.ts'
import { startRedis } from './redis.ts'
import { startRedisCluster } from './redis-cluster.ts'
import { temporaryFolder } from './temporary-folder.ts'

export { dataFolder } from './cache-folder.ts'
export { startPostgres } from './postgres.ts'
export { type Reaper, startReaper } from './reaper.ts'
export { startRedis } from './redis.ts'
export {
  busPortAbove,
  clusterUrl,
  type EmbeddedCluster,
  portOf,
  startClusterNode,
  startRedisCluster,
} from './redis-cluster.ts'
export type { Embedded } from './server-process.ts'

export interface EmbeddedServers {
  databaseUrl?: string
  redisUrl?: string
  /** For other processes that must not outlive this one. */
  reaper: Reaper
  stop(): Promise<void>
}

interface Options {
  /** Keeps the data under this name for the next start. Without it, the data is removed in the end. */
  folder?: string
  needs: { postgres: boolean; redis: boolean | 'cluster' }
}

/** Starts the needed servers in parallel. They end with `stop`, or with this process, even if it is killed. */
export async function startEmbedded({ folder: name, needs }: Options): Promise<EmbeddedServers> {
  const folder = name === undefined ? await temporaryFolder() : await dataFolder(name)
  const folderToRemove = name === undefined ? folder : undefined
  const reaper = startReaper()
  const startNeededRedis = needs.redis === 'cluster' ? startRedisCluster : startRedis
  const [postgres, redis] = await Promise.allSettled([
    needs.postgres ? startPostgres({ folder: join(folder, 'postgres'), reaper, folderToRemove }) : undefined,
    needs.redis ? startNeededRedis({ folder: join(folder, 'redis'), reaper, folderToRemove }) : undefined,
  ])

  async function stop() {
    await Promise.all(
      [postgres, redis].map((server) => server.status === 'fulfilled' && server.value?.stop()),
    )
    if (folderToRemove) await rm(folderToRemove, { recursive: true, force: true })
    await reaper.close()
  }

  if (postgres.status === 'rejected' || redis.status === 'rejected') {
    await stop()
    throw postgres.status === 'rejected' ? postgres.reason : (redis as PromiseRejectedResult).reason
  }
  return {
    ...(postgres.value && { databaseUrl: postgres.value.url }),
    ...(redis.value && { redisUrl: redis.value.url }),
    reaper,
    stop,
  }
}
