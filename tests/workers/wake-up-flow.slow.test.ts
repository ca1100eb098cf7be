import { expect, test } from 'vitest'
import { Readiness } from '../../src/platform/health/readiness.ts'
import { createWaitingBreaker } from '../../src/platform/redis/breaker.ts'
import { openRuntime } from '../../src/runtime.ts'
import { WakeUpFlow } from '../../workers/queue/wake-up-flow.ts'
import { startWorker } from '../../workers/worker.ts'
import { workerTimes } from '../../workers/worker-times.ts'
import { countedBy } from '../support/scrape.ts'
import { soonReconciled } from '../support/service.ts'
import { freshStores } from '../support/stores.ts'
import { startTcpProxy } from '../support/tcp-proxy.ts'
import { startTraffic } from '../support/traffic.ts'
import { eventually } from '../support/wait.ts'
import { answer } from '../support/webhook-receiver.ts'

/** In production they are longer. */
const stalledAfterSeconds = 1
const giveUpAfterMs = 1000

test.concurrent.for([
  ['without limits', {}, 'reconcile_failed'],
  ['with a limit', { maxInFlight: 1 }, 'permit_not_woken'],
] as const)(
  'a worker that gets no wake-ups although sends are due is not ready, shows it in a metric, and never waits for an answer without a limit: on a channel %s',
  async ([, limits, failure], context) => {
    const stores = await freshStores()
    const proxy = await startTcpProxy(stores.redisUrl)
    const { service, ...traffic } = await startTraffic(context, { REDIS_URL: proxy.url }, { stores })
    const opened = openRuntime('worker', service.runtime.settings, service.runtime.log)
    const shards = opened.shards.map((shard) => {
      const throughBreaker = createWaitingBreaker(shard.redis, { ...opened, name: shard.name }, giveUpAfterMs)
      return { ...shard, throughBreaker }
    })
    const runtime = { ...opened, shards }
    const flow = new WakeUpFlow(runtime.metrics, runtime.shards, stalledAfterSeconds)
    const readiness = new Readiness(runtime, () => flow.reasonNotReady())
    const shorter = { permitValidMs: 500, jobLockMs: 2000, stalledCheckMs: 500 }
    const times = { ...workerTimes, ...soonReconciled, ...shorter }
    const worker = startWorker(runtime, 'stalled', flow, times)
    context.onTestFinished(async () => {
      await worker.stop()
      await runtime.close()
      await proxy.close()
    })
    await worker.ready()
    const channelId = await traffic.buildWebhook(answer(200), limits)
    await traffic.expectSent([await traffic.send(channelId)])
    expect(await readiness.reasonNotReady()).toBeUndefined()
    // The last wake-up may be ending.
    await eventually('no stall', async () => (await countedBy(runtime.metrics.wakeUpsStalled)) === 0)

    proxy.freeze()
    const requestId = await traffic.send(channelId)
    const failures = () => service.logs.filter(({ event }) => event === failure)
    await eventually('the search gives up', async () => failures().length > 0)
    await eventually('it is not ready', async () =>
      /^Sends are due, but no wake-up has come for \d+ s\.$/.test((await readiness.reasonNotReady()) ?? ''),
    )
    await eventually('the metric', async () => (await countedBy(runtime.metrics.wakeUpsStalled)) > 1)

    proxy.thaw()
    await traffic.expectSent([requestId])
    await eventually('it is ready', async () => (await readiness.reasonNotReady()) === undefined)
    await eventually('so is the metric', async () => (await countedBy(runtime.metrics.wakeUpsStalled)) === 0)
    // One line a reason, not one a try.
    expect(new Set(failures().map(({ reason }) => reason)).size).toBe(failures().length)
  },
)
