import type { RegistryContentType } from 'prom-client'
import type { Clients } from './clients.ts'
import { droppedLogLines } from './log-output.ts'
import { faultCounts } from './logger.ts'

/** The current metrics of this process, in Prometheus's text format. Queries neither PostgreSQL nor Redis. */
export async function scrape(
  runtime: Pick<Clients, 'metrics' | 'db' | 'shards' | 'formerShards' | 'log'>,
): Promise<{ contentType: RegistryContentType; text: string }> {
  const { metrics, db, shards, formerShards, log } = runtime
  const { totalCount, idleCount, waitingCount, options } = db.$client
  metrics.connections.set({ state: 'idle' }, idleCount)
  metrics.connections.set({ state: 'in_use' }, totalCount - idleCount)
  metrics.maxConnections.set(options.max ?? 0)
  metrics.waitingForConnection.set(waitingCount)
  for (const { name, redis } of [...shards, ...formerShards]) {
    metrics.redisConnected.set({ shard: name }, redis.status === 'ready' ? 1 : 0)
  }
  for (const collect of metrics.beforeScrape) collect()
  metrics.faults.reset()
  for (const [level, count] of Object.entries(faultCounts(log))) metrics.faults.inc({ level }, count)
  metrics.logLinesDropped.reset()
  metrics.logLinesDropped.inc(droppedLogLines())
  return { contentType: metrics.registry.contentType, text: await metrics.registry.metrics() }
}
