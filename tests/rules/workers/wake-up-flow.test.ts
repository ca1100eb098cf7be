import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { createMetrics } from '../../../src/platform/metrics.ts'
import { WakeUpFlow } from '../../../workers/queue/wake-up-flow.ts'
import { countedBy } from '../../support/scrape.ts'

const stalledAfterSeconds = 0.1
/** On the first and on the second of two shards. */
const [first, second] = [
  '01a2008f-5644-7058-8112-8a94d4000000',
  '01a2008f-5644-7058-8112-8a94d4000001',
] as const

function search(flow: WakeUpFlow, due: readonly string[]): void {
  flow.beginSearch()
  flow.foundDue(due)
  flow.endSearch()
}

async function startStalledFlow(shards = [{ name: '0' }]) {
  const metrics = createMetrics('worker')
  const flow = new WakeUpFlow(metrics, shards, stalledAfterSeconds)
  search(flow, [first])
  await sleep(150)
  search(flow, [first])
  return { flow, stalledSeconds: () => countedBy(metrics.wakeUpsStalled) }
}

test('an idle worker counts as stalled from the first search that finds due sends', async () => {
  const { flow, stalledSeconds } = await startStalledFlow()
  expect(flow.reasonNotReady()).toMatch(/^Sends are due/)
  expect(await stalledSeconds()).toBeGreaterThan(stalledAfterSeconds)
})

test('a wake-up ends that at once, and it begins again after its send', async () => {
  const { flow, stalledSeconds } = await startStalledFlow()
  flow.began(first)
  expect(flow.reasonNotReady()).toBeUndefined()
  expect(await stalledSeconds()).toBe(0)
  await sleep(150)
  flow.ended(first)
  expect(flow.reasonNotReady()).toBeUndefined()
  await sleep(150)
  expect(flow.reasonNotReady()).toMatch(/^Sends are due/)
})

test('a search without due sends ends it at once', async () => {
  const { flow, stalledSeconds } = await startStalledFlow()
  search(flow, [])
  expect(flow.reasonNotReady()).toBeUndefined()
  expect(await stalledSeconds()).toBe(0)
})

test('sends of another shard hide no shard without wake-ups', async () => {
  const { flow, stalledSeconds } = await startStalledFlow([{ name: '0' }, { name: '1' }])
  flow.began(second)
  expect(flow.reasonNotReady()).toMatch(/^Sends of shard 0 are due/)
  expect(await stalledSeconds()).toBeGreaterThan(stalledAfterSeconds)
  search(flow, [second])
  expect(flow.reasonNotReady()).toBeUndefined()
  flow.foundSomeDue()
  await sleep(150)
  expect(flow.reasonNotReady()).toMatch(/^Sends of shard 0 are due/)
})
