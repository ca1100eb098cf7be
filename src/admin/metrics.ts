import { type Backlog, readBacklog } from '../../db/support/backlog.ts'
import { providerNames } from '../core/providers/index.ts'
import { Deadline } from '../platform/deadline.ts'
import { logWarning } from '../platform/logger.ts'
import type { Metrics } from '../platform/metrics.ts'
import { readyWithin } from '../platform/redis.ts'
import { scrape } from '../platform/scrape.ts'
import type { SendQueue } from '../queue/queue.ts'
import { type AdminRuntime, factory } from './context.ts'

/** However many ask, the stores are asked once in this time. */
const freshForMs = 5000
/** Prometheus gives up after 10 s, unless told. */
const answerWithinMs = 3000
/** A process that has just started has yet to connect. */
const connectWithinMs = 1000

const states = ['waiting', 'prioritized', 'delayed', 'active'] as const

/**
 * `/metrics` of the admin process: its own, and what PostgreSQL and Redis tell of the service as a whole. What can't be
 * read in time is left out, and told so: an old figure could be taken for a good one.
 */
export function metrics(runtime: AdminRuntime) {
  const { db, redis, queue, overflow, metrics: gauges } = runtime
  const collectors = [
    collector(runtime, {
      name: 'database',
      read: () => readBacklog(db),
      show: (backlog) => showBacklog(gauges, backlog),
      forget: () => {
        for (const gauge of [gauges.unfinished, gauges.oldestWaiting]) gauge.reset()
        for (const gauge of [gauges.heldChannels, gauges.breakers]) gauge.reset()
        // Without labels it would be reset to 0.
        gauges.workers.remove()
      },
    }),
    collector(runtime, {
      name: 'queues',
      read: async () => {
        await readyWithin(redis, connectWithinMs)
        return await Promise.all([queue, overflow].map(countJobs))
      },
      show: (counts) => showQueues(gauges, counts),
      forget: () => gauges.queueJobs.reset(),
    }),
  ]
  return factory.createHandlers(async (c) => {
    await Promise.all(collectors.map((collect) => collect()))
    const { contentType, text } = await scrape(runtime)
    return c.body(text, 200, { 'Content-Type': contentType })
  })
}

interface Collected<T> {
  name: 'database' | 'queues'
  read: () => Promise<T>
  show: (read: T) => void
  /** Takes back what was shown. */
  forget: () => void
}

function collector<T>({ log, metrics: gauges }: AdminRuntime, collected: Collected<T>) {
  const { name, read, show, forget } = collected
  let freshUntil = Number.NEGATIVE_INFINITY
  let reading: Promise<T> | undefined
  const collect = async (): Promise<void> => {
    const startedAt = performance.now()
    try {
      // One that took too long is not asked again beside itself.
      reading ??= read().finally(() => {
        reading = undefined
      })
      show(await new Deadline(answerWithinMs).spend(reading))
      gauges.collectorUp.set({ collector: name }, 1)
    } catch (error) {
      forget()
      gauges.collectorUp.set({ collector: name }, 0)
      logWarning(log, 'not_collected', error, { collector: name })
    }
    const tookMs = performance.now() - startedAt
    gauges.collectorDuration.set({ collector: name }, tookMs / 1000)
    freshUntil = performance.now() + freshForMs
  }
  let underWay: Promise<void> | undefined
  return async (): Promise<void> => {
    if (performance.now() < freshUntil) return
    underWay ??= collect().finally(() => {
      underWay = undefined
    })
    await underWay
  }
}

async function countJobs(queue: SendQueue) {
  return { queue: queue.name, counts: await queue.getJobCounts(...states) }
}

function showQueues({ queueJobs }: Metrics, queues: Awaited<ReturnType<typeof countJobs>>[]): void {
  for (const { queue, counts } of queues) {
    for (const state of states) queueJobs.set({ queue, state }, counts[state] ?? 0)
  }
}

function showBacklog(gauges: Metrics, { unfinished, oldestWaiting, channels, workers }: Backlog): void {
  for (const [state, count] of Object.entries(unfinished)) gauges.unfinished.set({ state }, count)
  for (const [of, seconds] of Object.entries(oldestWaiting)) {
    gauges.oldestWaiting.set({ channels: of }, seconds)
  }
  for (const provider of providerNames) {
    const one = channels.find((some) => some.provider === provider)
    gauges.heldChannels.set({ provider }, one?.held ?? 0)
    gauges.breakers.set({ provider, state: 'open' }, one?.breakersOpen ?? 0)
    gauges.breakers.set({ provider, state: 'half_open' }, one?.breakersHalfOpen ?? 0)
  }
  gauges.workers.set(workers)
}
