import { expect, test } from 'vitest'
import { startTraffic } from '../support/traffic.ts'
import { eventually } from '../support/wait.ts'
import { gate } from '../support/webhook-receiver.ts'

const sends = 20
/** Locks are renewed, which finds those that are lost, twice in this time. In production it is longer. */
const jobLockMs = 3000

test('wake-ups that Redis lost while their sends were being delivered are one log line each, with the requestId', async (context) => {
  const { service, ...traffic } = await startTraffic(context)
  const hung = gate()
  const channelId = await traffic.buildWebhook(hung.behaviour)
  const ids = await traffic.sendSome(channelId, sends)
  // The overflow of a channel that hasn't answered yet goes a few at a time.
  await service.runtime.db.$client.query('update channels set answered_at = now()')
  await service.startWorker('test-worker', { times: { jobLockMs } })
  await eventually('all are called', async () => hung.waiting === sends)
  await service.runtime.redis.flushdb()
  const faults = () => service.logs.filter(({ event }) => event === 'queue_fault')
  await eventually('the locks are missed', async () => faults().length >= sends)
  hung.open()
  await traffic.expectSent(ids)
  await eventually('nothing is in flight', async () => traffic.callsOf(ids).length >= sends)
  expect(
    faults()
      .map(({ requestId }) => requestId)
      .sort(),
  ).toEqual([...ids].sort())
})
