import { Redis } from 'ioredis'
import { parseRedisUrl } from '../../../src/platform/redis/address.ts'
import { freshCluster } from '../../support/fresh-cluster.ts'
import type { Stage } from '../stage.ts'

/** A Redis or Cluster, divided into shards. */
export interface Store {
  name: string
  redisUrl: string
  /** The masters. */
  nodes: Redis[]
  shards: number
}

/** One Redis with so many shards. */
export function oneRedis({ redis }: Stage, shards: number): Store {
  const name = shards === 1 ? 'one Redis' : `one Redis, ${shards} shards`
  return { name, redisUrl: `redis://127.0.0.1:${redis.options.port}`, nodes: [redis], shards }
}

/** A Cluster with a shard for each of its masters. Its connections are closed by `disconnect`. */
export async function openCluster(masters: number): Promise<Store> {
  const redisUrl = await freshCluster(masters)
  const address = parseRedisUrl(redisUrl)
  const nodes = address.kind === 'cluster' ? address.nodes.map((node) => new Redis(node)) : []
  return { name: `${masters} masters`, redisUrl, nodes, shards: masters }
}

export function disconnect({ nodes }: Store): void {
  for (const node of nodes) node.disconnect()
}

export const settingsOf = ({ redisUrl, shards }: Store) => ({
  REDIS_URL: redisUrl,
  QUEUE_SHARDS: String(shards),
})
