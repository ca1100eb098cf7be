import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { updateChannel } from '../../db/channels.ts'
import type { OnUncertain } from '../../src/core/outcome.ts'
import { rowOf } from '../support/attempts.ts'
import { acceptBatch, type BatchedSend, insertBatch } from '../support/batches.ts'
import {
  type Account,
  accept,
  buildAccount,
  buildWebhookChannel,
  newContact,
  textBody,
} from '../support/builders.ts'
import { wakeUpOf, wakeUpsLeft } from '../support/queue.ts'
import { finishedTimeline, startTestService, type TestService } from '../support/service.ts'
import { eventually } from '../support/wait.ts'
import {
  accept as accepting,
  type Behaviour,
  gate,
  openWebhookReceiver,
  type WebhookReceiver,
} from '../support/webhook-receiver.ts'

let service: TestService
let account: Account
let receiver: WebhookReceiver

beforeAll(async () => {
  receiver = await openWebhookReceiver()
})
afterAll(() => receiver.stop())
beforeEach(async () => {
  service = await startTestService({
    ALLOWED_PRIVATE_NETWORKS: '127.0.0.0/8',
    RETRY_DELAYS_SECONDS: '1',
    WORKER_CONCURRENCY: '10',
    PROVIDER_TIMEOUT_SECONDS: '25',
  })
  account = await buildAccount(service)
  return () => service.stop()
})

const buildWebhook = (behaviour: Behaviour, onUncertain: OnUncertain = 'hold') =>
  buildWebhookChannel(service, account.accountId, receiver.at(behaviour), onUncertain)

const ended = (requestId: string) => finishedTimeline(service, requestId, account.apiKey)
const called = () => receiver.calls.map(({ headers }) => String(headers['webhook-id']))
const callsOf = (requestIds: readonly string[]) => called().filter((id) => requestIds.includes(id))

async function sendSome(count: number, channelId: string, contact = newContact()): Promise<string[]> {
  const ids: string[] = []
  for (let i = 0; i < count; i++) {
    ids.push(await accept(service, { ...account, channelId }, textBody('Hello', contact)))
  }
  return ids
}

/** So many sends of one lane. */
function laneOf(count: number, channelId: string): BatchedSend[] {
  const contact = { type: 'phone', value: newContact() } as const
  return Array.from({ length: count }, () => ({ accountId: account.accountId, channelId, contact }))
}

test('a thousand sends to one contact hold up nobody else, and are woken one by one', async () => {
  const hung = gate()
  const contact = newContact()
  const channelId = await buildWebhook((request, response) =>
    lane.includes(String(request.headers['webhook-id']))
      ? hung.behaviour(request, response)
      : accepting(request, response),
  )
  const batch = Array.from({ length: 1000 }, () => ({
    ...account,
    channelId,
    contact: { type: 'phone', value: contact } as const,
  }))
  const lane: string[] = await acceptBatch(service, batch)
  await service.startWorker()
  const others = await sendSome(1, channelId)
  others.push(...(await sendSome(1, channelId)))
  for (const id of others) expect(await ended(id)).toMatchObject({ status: 'sent' })
  await eventually('all wake-ups but that of the head have ended', async () => {
    const { ordinary, overflow } = await wakeUpsLeft(service)
    return ordinary === 1 && overflow === 0
  })
  expect(callsOf(lane)).toEqual([lane[0]])
  expect(await wakeUpOf(service, lane[0] ?? '')).toBeDefined()
  hung.open()
  await eventually('fifty more', async () => callsOf(lane).length > 50)
  const { ordinary, overflow } = await wakeUpsLeft(service)
  expect(ordinary + overflow).toBeLessThanOrEqual(3)
  const calls = callsOf(lane)
  expect(calls).toEqual(lane.slice(0, calls.length))
})

test('the next one goes at once when the one before it has ended: fifty of them within moments', async () => {
  const arrivals: number[] = []
  const channelId = await buildWebhook((request, response) => {
    arrivals.push(performance.now())
    return accepting(request, response)
  })
  const lane = await acceptBatch(service, laneOf(50, channelId))
  await service.startWorker()
  await eventually('all calls', async () => arrivals.length === 50)
  expect(callsOf(lane)).toEqual(lane)
  const gaps = arrivals.slice(1).map((at, index) => at - (arrivals[index] ?? 0))
  expect(gaps.toSorted((a, b) => a - b)[24]).toBeLessThan(300)
})

test('while a channel has no order its new sends wait for nobody, and those from before keep theirs', async () => {
  const hung = gate()
  const { db } = service.runtime
  const channelId = await buildWebhook(hung.behaviour)
  const contact = { type: 'phone', value: newContact() } as const
  const batch = Array.from({ length: 2 }, () => ({ ...account, channelId, contact }))
  await service.startWorker()
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
  expect(callsOf([...before, ...free, ...after]).toSorted()).toEqual(
    [...before.slice(0, 1), ...free].toSorted(),
  )
  hung.open()
  for (const id of [...before, ...free, ...after]) expect(await ended(id)).toMatchObject({ status: 'sent' })
  expect(callsOf([...before, ...after])).toEqual([...before, ...after])
})

test('a change of the order of a channel is followed by its next sends', async () => {
  const channelId = await buildWebhook(accepting)
  const contact = newContact()
  const laneOfNext = async () => {
    const [id = ''] = await sendSome(1, channelId, contact)
    return (await rowOf(service, id)).lane
  }
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

test('a lane is of one channel and one contact: e-mail and phone of the same text, two channels, two accounts are apart', async () => {
  const other = await buildAccount(service)
  const value = '+4915100000000'
  const phone = { ...account, contact: { type: 'phone', value } } as const
  const sends: BatchedSend[] = [
    phone,
    { ...phone, contact: { type: 'email', value } },
    { ...phone, channelId: await buildWebhook(accepting) },
    { ...other, contact: phone.contact },
    { ...phone, contact: { type: 'phone', value, name: 'Ann' } },
  ]
  const rows = await insertBatch(service, sends)
  const lanes = await Promise.all(rows.map(async ({ requestId }) => (await rowOf(service, requestId)).lane))
  expect(new Set(lanes.slice(0, 4)).size).toBe(4)
  expect(lanes[4]).toBe(lanes[0])
})
