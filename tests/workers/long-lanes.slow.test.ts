import { expect, test } from 'vitest'
import { updateChannel } from '../../db/accounts/channels.ts'
import { rowOf } from '../support/attempts.ts'
import { acceptBatch, type BatchedSend, insertBatch, laneOf } from '../support/batches.ts'
import { buildAccount, newContact } from '../support/builders.ts'
import { wakeUpOf, wakeUpsLeft } from '../support/queue.ts'
import { startTraffic } from '../support/traffic.ts'
import { eventually } from '../support/wait.ts'
import { accept as accepting, gate } from '../support/webhook-receiver.ts'

const settings = { RETRY_DELAYS_SECONDS: '1', WORKER_CONCURRENCY: '10', PROVIDER_TIMEOUT_SECONDS: '25' }

test.concurrent('a thousand sends to one contact delay no other contact, and are woken one by one', async (context) => {
  const { service, ...traffic } = await startTraffic(context, settings)
  const hung = gate()
  const channelId = await traffic.buildWebhook((request, response) =>
    lane.includes(String(request.headers['webhook-id']))
      ? hung.behaviour(request, response)
      : accepting(request, response),
  )
  const lane: string[] = await acceptBatch(service, laneOf(1000, { ...traffic.account, channelId }))
  await traffic.startWorkers('a')
  await traffic.expectSent(await traffic.sendSome(channelId, 2))
  await eventually('all wake-ups but that of the head have ended', async () => {
    const { ordinary, overflow } = await wakeUpsLeft(service)
    return ordinary === 1 && overflow === 0
  })
  expect(traffic.orderOf(lane)).toEqual([lane[0]])
  expect(await wakeUpOf(service, lane[0] ?? '')).toBeDefined()
  hung.open()
  await eventually('fifty more', async () => traffic.orderOf(lane).length > 50)
  const { ordinary, overflow } = await wakeUpsLeft(service)
  expect(ordinary + overflow).toBeLessThanOrEqual(3)
  const calls = traffic.orderOf(lane)
  expect(calls).toEqual(lane.slice(0, calls.length))
})

test.concurrent("a change of a channel's order applies to its next sends", async (context) => {
  const { service, ...traffic } = await startTraffic(context, settings)
  const channelId = await traffic.buildWebhook(accepting)
  const contact = newContact()
  const laneOfNext = async () => (await rowOf(service, await traffic.send(channelId, contact))).lane
  const lane = await laneOfNext()
  expect(lane).not.toBeNull()
  for (const [ordering, expected] of [
    ['none', null],
    ['contact', lane],
  ] as const) {
    await updateChannel(service.runtime.db, channelId, { ordering })
    await eventually(`the order ${ordering}`, async () => (await laneOfNext()) === expected)
  }
})

test('a send goes at once when the one before it has ended: fifty within moments', async (context) => {
  const traffic = await startTraffic(context, settings)
  const channelId = await traffic.buildWebhook(accepting)
  const lane = await acceptBatch(traffic.service, laneOf(50, { ...traffic.account, channelId }))
  await traffic.startWorkers('a')
  await eventually('all calls', async () => traffic.callsOf(lane).length === 50)
  expect(traffic.orderOf(lane)).toEqual(lane)
  const arrivals = traffic.callsOf(lane).map(({ at }) => at)
  const waits = arrivals.slice(1).map((at, index) => at - (arrivals[index] ?? 0))
  expect(waits.toSorted((a, b) => a - b)[24]).toBeLessThan(300)
})

test('while a channel has no order its new sends wait for no other, and those from before keep theirs', async (context) => {
  const { service, ...traffic } = await startTraffic(context, settings)
  const hung = gate()
  const { db } = service.runtime
  const channelId = await traffic.buildWebhook(hung.behaviour)
  const batch = laneOf(2, { ...traffic.account, channelId })
  await traffic.startWorkers('a')
  const before = await acceptBatch(service, batch)
  await updateChannel(db, channelId, { ordering: 'none' })
  const free = await acceptBatch(
    service,
    batch.map((send) => ({ ...send, ordering: 'none' as const })),
  )
  await eventually('three calls', async () => hung.waiting === 3)
  await updateChannel(db, channelId, { ordering: 'contact' })
  const after = await acceptBatch(service, batch)
  for (const id of after) {
    await eventually('its wake-up has ended', async () => !(await wakeUpOf(service, id)))
  }
  expect(traffic.orderOf([...before, ...free, ...after]).toSorted()).toEqual(
    [...before.slice(0, 1), ...free].toSorted(),
  )
  hung.open()
  await traffic.expectSent([...before, ...free, ...after])
  expect(traffic.orderOf([...before, ...after])).toEqual([...before, ...after])
})

test('a lane is of one channel and one contact: e-mail and phone of the same text, two channels, two accounts are apart', async (context) => {
  const { service, ...traffic } = await startTraffic(context, settings)
  const other = await buildAccount(service)
  const value = '+4915100000000'
  const phone = { ...traffic.account, contact: { type: 'phone', value } } as const
  const sends: BatchedSend[] = [
    phone,
    { ...phone, contact: { type: 'email', value } },
    { ...phone, channelId: await traffic.buildWebhook(accepting) },
    { ...other, contact: phone.contact },
    { ...phone, contact: { type: 'phone', value, name: 'Ann' } },
  ]
  const rows = await insertBatch(service, sends)
  const lanes = await Promise.all(rows.map(async ({ requestId }) => (await rowOf(service, requestId)).lane))
  expect(new Set(lanes.slice(0, 4)).size).toBe(4)
  expect(lanes[4]).toBe(lanes[0])
})
