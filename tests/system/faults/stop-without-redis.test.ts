import { afterAll, beforeAll, expect, test } from 'vitest'
import { permits } from '../../../db/schema.ts'
import { type Reaper, startReaper } from '../../../src/dev/embedded/index.ts'
import { rowOf } from '../../support/attempts.ts'
import { type BreakableServers, startBreakableServers } from '../../support/breakable-servers.ts'
import { startTraffic } from '../../support/traffic.ts'
import { eventually } from '../../support/wait.ts'
import { gate } from '../../support/webhook-receiver.ts'

let reaper: Reaper
let servers: BreakableServers

beforeAll(async () => {
  reaper = startReaper()
  servers = await startBreakableServers(reaper)
})
afterAll(async () => {
  await servers?.stop()
  await reaper?.close()
})

test('a worker whose Redis is away records the outcomes of its calls and stops in time; the sends behind them are sent by the next worker', async (context) => {
  const { service, ...traffic } = await startTraffic(
    context,
    { PROVIDER_TIMEOUT_SECONDS: '25' },
    { stores: servers },
  )
  const hung = gate()
  const limited = await traffic.sendSome(await traffic.buildWebhook(hung.behaviour, { maxInFlight: 1 }), 2)
  const lane = await traffic.sendLane(await traffic.buildWebhook(hung.behaviour), 2)
  const worker = await service.startWorker()
  await eventually('a call in each channel', async () => hung.waiting === 2)
  await servers.stopRedis()
  const stoppedAt = performance.now()
  const stopped = worker.stop().then(() => performance.now() - stoppedAt)
  hung.open()
  const statuses = async () =>
    (await Promise.all([...limited, ...lane].map((id) => rowOf(service, id)))).map(({ status }) => status)
  expect(await stopped).toBeLessThan(10_000)
  expect(await statuses()).toEqual(['sent', 'queued', 'sent', 'queued'])
  await servers.startRedis()
  // No wake-up could be added for a permit that was given meanwhile.
  await service.runtime.db.update(permits).set({ validUntil: new Date(0) })
  await service.startWorker('another')
  await traffic.expectSent([...limited, ...lane])
})
