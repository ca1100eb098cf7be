import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { createMetrics } from '../../../src/platform/metrics.ts'
import { WakeUpFlow } from '../../../workers/upkeep/wake-up-flow.ts'
import { countedBy } from '../../support/scrape.ts'

const stalledAfterSeconds = 0.1

async function startStalledFlow() {
  const metrics = createMetrics('worker')
  const flow = new WakeUpFlow(metrics, stalledAfterSeconds)
  flow.searched(true)
  await sleep(150)
  flow.searched(true)
  return { flow, stalledSeconds: () => countedBy(metrics.wakeUpsStalled) }
}

test('an idle worker counts as stalled from the first search that finds due sends', async () => {
  const { flow, stalledSeconds } = await startStalledFlow()
  expect(flow.reasonNotReady()).toMatch(/^Sends are due/)
  expect(await stalledSeconds()).toBeGreaterThan(stalledAfterSeconds)
})

test('a wake-up ends that at once, and it begins again after its send', async () => {
  const { flow, stalledSeconds } = await startStalledFlow()
  flow.workingOn(1)
  expect(flow.reasonNotReady()).toBeUndefined()
  expect(await stalledSeconds()).toBe(0)
  await sleep(150)
  flow.workingOn(0)
  expect(flow.reasonNotReady()).toBeUndefined()
  await sleep(150)
  expect(flow.reasonNotReady()).toMatch(/^Sends are due/)
})

test('a search without due sends ends it at once', async () => {
  const { flow, stalledSeconds } = await startStalledFlow()
  flow.searched(false)
  expect(flow.reasonNotReady()).toBeUndefined()
  expect(await stalledSeconds()).toBe(0)
})
