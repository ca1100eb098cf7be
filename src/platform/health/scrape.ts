import type { RegistryContentType } from 'prom-client'
import type { Clients } from '../clients.ts'
import { droppedLogLines } from '../log/log-output.ts'
import { faultCounts } from '../log/logger.ts'
import type { Metrics } from '../metrics.ts'
import type { Readiness } from './readiness.ts'
import { showHealth } from './show-health.ts'

type Scraped = Pick<Clients, 'metrics' | 'db' | 'database' | 'shards' | 'formerShards' | 'log'>

interface Scrape {
  contentType: RegistryContentType
  text: string
}

/** Scrapes at the same time share one text: a hundred of them would hold the event loop for a second. */
const underWay = new WeakMap<Metrics, Promise<Scrape>>()

/**
 * The current metrics of this process, in Prometheus's text format. Waits up to a second for each store, to say whether it can be
 * used.
 */
export function scrape(runtime: Scraped, readiness: Readiness): Promise<Scrape> {
  const { metrics } = runtime
  const scraping =
    underWay.get(metrics) ?? readMetrics(runtime, readiness).finally(() => underWay.delete(metrics))
  underWay.set(metrics, scraping)
  return scraping
}

async function readMetrics(runtime: Scraped, readiness: Readiness): Promise<Scrape> {
  const { metrics, db, shards, formerShards, log } = runtime
  const { totalCount, idleCount, waitingCount, options } = db.$client
  metrics.connections.set({ state: 'idle' }, idleCount)
  metrics.connections.set({ state: 'in_use' }, totalCount - idleCount)
  metrics.maxConnections.set(options.max ?? 0)
  metrics.waitingForConnection.set(waitingCount)
  for (const { name, redis } of [...shards, ...formerShards]) {
    metrics.redisConnected.set({ shard: name }, redis.status === 'ready' ? 1 : 0)
  }
  await showHealth(runtime, readiness)
  for (const collect of metrics.beforeScrape) collect()
  metrics.faults.reset()
  for (const [level, count] of Object.entries(faultCounts(log))) metrics.faults.inc({ level }, count)
  metrics.logLinesDropped.reset()
  metrics.logLinesDropped.inc(droppedLogLines())
  return { contentType: metrics.registry.contentType, text: await metrics.registry.metrics() }
}
