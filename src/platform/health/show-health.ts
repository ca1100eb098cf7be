import type { Clients } from '../clients.ts'
import { readEviction } from '../redis/eviction.ts'
import { askRedis } from '../redis/health.ts'
import type { Readiness } from './readiness.ts'

type Needed = Pick<Clients, 'metrics' | 'database' | 'shards' | 'formerShards'>

/** Sets the metrics that say whether this process is ready and can use its stores, and why not. */
export async function showHealth(runtime: Needed, readiness: Readiness): Promise<void> {
  const { metrics, shards, formerShards } = runtime
  const showReady = async () => metrics.ready.set((await readiness.isReady()) ? 1 : 0)
  metrics.redisFault.reset()
  const showRedis = async (shard: Clients['shards'][number]) => {
    const cause = await askRedis(shard)
    metrics.redisUsable.set({ shard: shard.name }, cause ? 0 : 1)
    if (cause) metrics.redisFault.set({ shard: shard.name, cause: cause.cause }, 1)
    else await readEviction(shard, metrics)
  }
  await Promise.all([showReady(), showDatabase(runtime), ...[...shards, ...formerShards].map(showRedis)])
}

async function showDatabase({ metrics, database }: Needed): Promise<void> {
  const cause = await database.cause()
  metrics.databaseUsable.set(cause ? 0 : 1)
  metrics.databaseFault.reset()
  if (cause) metrics.databaseFault.set({ cause: cause.cause }, 1)
}
