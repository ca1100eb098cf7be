import type { RegistryContentType } from 'prom-client'
import type { Clients } from './clients.ts'
import { faultCounts } from './logger.ts'

/** All metrics of this process as they are now, in the text format of Prometheus. Asks no store. */
export async function scrape(
  runtime: Pick<Clients, 'metrics' | 'db' | 'redis' | 'log'>,
): Promise<{ contentType: RegistryContentType; text: string }> {
  const { metrics, db, redis, log } = runtime
  const { totalCount, idleCount, waitingCount, options } = db.$client
  metrics.connections.set({ state: 'idle' }, idleCount)
  metrics.connections.set({ state: 'in_use' }, totalCount - idleCount)
  metrics.mostConnections.set(options.max ?? 0)
  metrics.waitingForConnection.set(waitingCount)
  metrics.redisConnected.set(redis.status === 'ready' ? 1 : 0)
  metrics.faults.reset()
  for (const [level, count] of Object.entries(faultCounts(log))) metrics.faults.inc({ level }, count)
  return { contentType: metrics.registry.contentType, text: await metrics.registry.metrics() }
}
