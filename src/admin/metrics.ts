import type { Queue } from 'bullmq'
import { type Backlog, readBacklog } from '../../db/sends/backlog.ts'
import { maskText } from '../core/contacts/mask-text.ts'
import { acceptableShares } from '../core/suppression/suppression.ts'
import { Deadline } from '../platform/deadline.ts'
import type { Readiness } from '../platform/health/readiness.ts'
import { scrape } from '../platform/health/scrape.ts'
import { causeFields, databaseCauseFields } from '../platform/log/cause-fields.ts'
import { logWarning } from '../platform/log/logger.ts'
import type { Metrics } from '../platform/metrics.ts'
import { redisCause } from '../platform/redis/cause.ts'
import { readyWithin } from '../platform/redis/redis.ts'
import { providerNames } from '../providers/index.ts'
import { queuesOf } from '../queue/shard.ts'
import { type AdminRuntime, factory } from './context.ts'

/** PostgreSQL and Redis are read at most once in this time, however many scrapes there are. */
const freshForMs = 5000
/** Well below Prometheus's default time-out of 10 s. */
const answerWithinMs = 3000
/** For a process that has just started, and isn't connected yet. */
const connectWithinMs = 1000

/** In characters, so that an alert can be read. */
const longestName = 80

const states = ['waiting', 'prioritized', 'delayed', 'active'] as const

/**
 * `/metrics` of the admin process: its own metrics, and those of the whole service, read from PostgreSQL and Redis. Metrics
 * that can't be read in time are left out, because an old value could be taken for a current one; `outbound_collector_up`
 * is 0 then.
 */
export function metrics(runtime: AdminRuntime, readiness: Readiness) {
  const { db, shards, formerShards, metrics: gauges } = runtime
  const collectors = [
    createCollect(runtime, {
      name: 'database',
      read: () => readBacklog(db),
      show: (backlog) => showBacklog(gauges, backlog),
      clear: () => {
        for (const gauge of [gauges.unfinished, gauges.oldestWaiting]) gauge.reset()
        for (const gauge of [gauges.heldChannels, gauges.breakers, gauges.withoutReceipts]) gauge.reset()
        gauges.oftenRefused.reset()
        gauges.inTrouble.reset()
        // `reset()` would set a gauge without labels to 0.
        gauges.workers.remove()
        gauges.oldestCallback.remove()
        for (const gauge of [gauges.callbacksWaiting, gauges.endpoints]) gauge.reset()
      },
    }),
    ...[...shards, ...formerShards].map((shard) =>
      createCollect(runtime, {
        name: 'queues',
        shard: shard.name,
        read: async () => {
          await readyWithin(shard.redis, connectWithinMs)
          return await Promise.all(queuesOf(shard).map(countJobs))
        },
        show: (counts) => showQueues(gauges, shard.name, counts),
        clear: () => {
          for (const { name } of queuesOf(shard))
            for (const state of states) gauges.queueJobs.remove({ queue: name, state, shard: shard.name })
        },
      }),
    ),
  ]
  return factory.createHandlers(async (c) => {
    await Promise.all(collectors.map((collect) => collect()))
    const { contentType, text } = await scrape(runtime, readiness)
    return c.body(text, 200, { 'Content-Type': contentType })
  })
}

interface Collected<T> {
  name: 'database' | 'queues'
  shard?: string
  read: () => Promise<T>
  show: (read: T) => void
  /** Removes the values, so that they are missing from the scrape. */
  clear: () => void
}

function createCollect<T>({ log, metrics: gauges }: AdminRuntime, collected: Collected<T>) {
  const { name, shard, read, show, clear } = collected
  const labels = { collector: name, ...(shard !== undefined && { shard }) }
  let freshUntil = Number.NEGATIVE_INFINITY
  let reading: Promise<T> | undefined
  const collect = async (): Promise<void> => {
    const startedAt = performance.now()
    try {
      // Waits for an earlier read that timed out and is still running, instead of starting a second one.
      reading ??= read().finally(() => {
        reading = undefined
      })
      show(await new Deadline(answerWithinMs).spend(reading))
      gauges.collectorUp.set(labels, 1)
    } catch (error) {
      clear()
      gauges.collectorUp.set(labels, 0)
      logWarning(log, 'not_collected', error, { ...labels, ...fieldsOf(name, error) })
    }
    const tookMs = performance.now() - startedAt
    gauges.collectorDuration.set(labels, tookMs / 1000)
    freshUntil = performance.now() + freshForMs
  }
  let collecting: Promise<void> | undefined
  return async (): Promise<void> => {
    if (performance.now() < freshUntil) return
    collecting ??= collect().finally(() => {
      collecting = undefined
    })
    await collecting
  }
}

const fieldsOf = (name: Collected<unknown>['name'], error: unknown) =>
  name === 'database' ? databaseCauseFields(error) : causeFields(redisCause(error))

async function countJobs(queue: Pick<Queue, 'name' | 'getJobCounts'>) {
  return { queue: queue.name, counts: await queue.getJobCounts(...states) }
}

function showQueues(
  { queueJobs }: Metrics,
  shard: string,
  queues: Awaited<ReturnType<typeof countJobs>>[],
): void {
  for (const { queue, counts } of queues) {
    for (const state of states) queueJobs.set({ queue, state, shard }, counts[state] ?? 0)
  }
}

function showBacklog(gauges: Metrics, backlog: Backlog): void {
  const { unfinished, scheduled, oldestWaiting, channels, refusedChannels, callbacks, workers } = backlog
  for (const [priority, states] of Object.entries(unfinished))
    for (const [state, count] of Object.entries(states)) gauges.unfinished.set({ state, priority }, count)
  gauges.unfinished.set({ state: 'scheduled' }, scheduled)
  for (const [kind, seconds] of Object.entries(oldestWaiting)) {
    gauges.oldestWaiting.set({ channels: kind }, seconds)
  }
  gauges.inTrouble.reset()
  const withChannels = [...channels, ...refusedChannels].map(({ provider }) => provider)
  for (const provider of new Set([...providerNames, ...withChannels])) {
    const one = channels.find((some) => some.provider === provider)
    gauges.heldChannels.set({ provider }, one?.held ?? 0)
    gauges.breakers.set({ provider, state: 'open' }, one?.breakersOpen ?? 0)
    gauges.breakers.set({ provider, state: 'half_open' }, one?.breakersHalfOpen ?? 0)
    gauges.withoutReceipts.set({ provider }, one?.withoutReceipts ?? 0)
    for (const { cause } of acceptableShares) {
      const refused = refusedChannels.find((some) => some.provider === provider && some.cause === cause)
      gauges.oftenRefused.set({ provider, cause }, refused?.channels ?? 0)
      nameChannels(gauges, { provider, trouble: cause }, refused?.names)
    }
    nameChannels(gauges, { provider, trouble: 'held' }, one?.heldNames)
    nameChannels(gauges, { provider, trouble: 'breaker' }, one?.breakerNames)
    nameChannels(gauges, { provider, trouble: 'no_receipts' }, one?.withoutReceiptsNames)
  }
  for (const state of ['due', 'later', 'disabled'] as const)
    gauges.callbacksWaiting.set({ state }, callbacks[state])
  gauges.oldestCallback.set(callbacks.oldestDue)
  gauges.endpoints.set({ state: 'disabled' }, callbacks.disabledEndpoints)
  gauges.endpoints.set({ state: 'failing' }, callbacks.failingEndpoints)
  gauges.workers.set(workers)
}

/** For the alerts. A name may hold the number or the address that the channel sends from. */
function nameChannels(
  { inTrouble }: Metrics,
  labels: { provider: string; trouble: string },
  names: readonly string[] = [],
): void {
  for (const name of names) inTrouble.set({ ...labels, channel: maskText(name, []).slice(0, longestName) }, 1)
}
