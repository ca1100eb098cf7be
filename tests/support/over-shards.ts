import type { TestContext } from 'vitest'
import { expect } from 'vitest'
import { startTestAdmin } from './admin.ts'
import { accept, buildAccount, newContact, post, textBody } from './builders.ts'
import { getPage } from './pages.ts'
import { scrapeAt } from './scrape.ts'
import { neverReconciled, startTestService } from './service.ts'
import { spanBetween, unlessStoodStill } from './standstill.ts'
import type { Stores } from './stores.ts'
import { startTraffic } from './traffic.ts'
import { answer } from './webhook-receiver.ts'

const laneCount = 6
const perLane = 15
const points = 20
const accountCount = 8

/** Promises that have to hold over several shards: without the reconciler, so that each wake-up is on its shard. */
export async function expectTheSameOverShards(
  context: TestContext,
  stores: Stores,
  settings: Record<string, string>,
) {
  const begun = performance.now()
  const { service, ...traffic } = await startTraffic(context, settings, { stores, times: neverReconciled })
  const { shards } = service.runtime
  expect(shards.length).toBeGreaterThan(1)

  const channelId = await traffic.buildWebhook(answer(200))
  const contacts = Array.from({ length: laneCount }, newContact)
  const lanes = await Promise.all(
    contacts.map(async (contact) => ({ contact, ids: await traffic.sendLane(channelId, perLane, contact) })),
  )
  const admin = await startTestAdmin(service, settings)
  context.onTestFinished(() => admin.stop())
  const scrape = await scrapeAt(admin.url)
  expect(scrape.value('outbound_collector_up')).toBe(1 + shards.length)
  for (const { name } of shards) {
    expect(scrape.value('outbound_redis_connected', { shard: name })).toBe(1)
    expect(scrape.value('outbound_queue_jobs', { shard: name }), name).toBeGreaterThan(0)
  }
  expect(scrape.value('outbound_queue_jobs')).toBe(laneCount * perLane)
  const { text } = await getPage(`${admin.url}/queues`)
  for (const { name } of shards) expect(text).toContain(`Shard ${name}`)

  await traffic.startWorkers('one', 'two')
  await traffic.expectSent(lanes.flatMap(({ ids }) => ids))
  for (const { ids } of lanes) expect(traffic.orderOf(ids)).toEqual(ids)

  const limits = { RATE_LIMIT_POINTS: String(points), ...settings }
  const apis = await Promise.all([1, 2].map(() => startTestService(limits, stores)))
  for (const api of apis) context.onTestFinished(() => api.stop())
  for (let nr = 0; nr < accountCount; nr++) {
    const account = await buildAccount(service)
    const answers = await Promise.all(
      Array.from({ length: 2 * points }, (_, n) =>
        post(apis[n % 2] as (typeof apis)[0], account, textBody()),
      ),
    )
    expect(answers.filter(({ status }) => status === 202)).toHaveLength(points)
  }
  const limited = await Promise.all(shards.map(({ redis, prefix }) => redis.keys(`${prefix}:rate:*`)))
  for (const keys of limited) expect(keys.length).toBeLessThan(accountCount)
  await accept(service, { ...traffic.account, channelId }, textBody())
  const ofQueue = /^(redis|queue|enqueue|wake|lane|reconcile)/
  unlessStoodStill(spanBetween(begun, performance.now()), () =>
    expect(service.logs.filter(({ level, event }) => level !== 'info' && ofQueue.test(event))).toEqual([]),
  )
}
