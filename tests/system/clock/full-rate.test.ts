import { expect, test } from 'vitest'
import { acceptBatch, manyOf } from '../../support/batches.ts'
import { expectSooner } from '../../support/standstill.ts'
import { expectOrder, expectRate, spanOf, startTraffic } from '../../support/traffic.ts'
import { accept } from '../../support/webhook-receiver.ts'

test('three workers together use a rate fully, in the order of accept, and never exceed it', async (context) => {
  const traffic = await startTraffic(context)
  const channelId = await traffic.buildWebhook(accept, { rateCalls: 40, rateSeconds: 4 })
  const ids = await acceptBatch(traffic.service, manyOf(60, { ...traffic.account, channelId }))
  await traffic.startWorkers('a', 'b', 'c')
  await traffic.expectSent(ids)
  const calls = traffic.callsOf(ids)
  expect(calls).toHaveLength(60)
  expectRate(calls, 40, 4000)
  expectSooner(spanOf(calls), 5900 / 0.75)
  // A send that misses its permit, because the machine is busy, comes a second later.
  expectOrder(calls, ids, 4)
})
