import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { replaySend } from '../../db/replays.ts'
import type { OnUncertain } from '../../src/core/outcome.ts'
import { openRuntime } from '../../src/platform/runtime.ts'
import { deliverer } from '../../workers/deliver.ts'
import { openProviders } from '../../workers/providers/index.ts'
import { startQueueWorker } from '../../workers/queue-worker.ts'
import { turnGiver } from '../../workers/turns.ts'
import { beginAttempt, endAttempt, loseAttempt, rowOf, sweepOnce } from '../support/attempts.ts'
import { acceptBatch, type BatchedSend, insertBatch } from '../support/batches.ts'
import {
  type Account,
  accept,
  buildAccount,
  buildWebhookChannel,
  newContact,
  textBody,
} from '../support/builders.ts'
import { livingWorker } from '../support/living-worker.ts'
import { wake, wakeUpOf } from '../support/queue.ts'
import { finishedTimeline, startTestService, type TestService } from '../support/service.ts'
import { eventually } from '../support/wait.ts'
import {
  accept as accepting,
  answer,
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

/** A worker that nothing but wake-ups brings to a send: neither reconciler nor sweeps. */
async function startFollower(): Promise<void> {
  const runtime = openRuntime('worker', service.runtime.settings, service.runtime.log)
  const heartbeat = await livingWorker(service, 'follower')
  const { providers, close } = openProviders(runtime.db, runtime.settings)
  const worker = startQueueWorker(runtime, deliverer(runtime, providers, heartbeat, turnGiver(runtime)))
  stops.push(worker.stop, close, runtime.close)
  await worker.ready()
}

const stops: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop()
})

test('the wake-up of one that has ended wakes the next one by itself', async () => {
  const [first = '', second = ''] = await sendSome(2, await buildWebhook(accepting))
  await (await wakeUpOf(service, first))?.remove()
  await endAttempt(service, await beginAttempt(service, first, 'early'), { outcome: 'sent' })
  await (await wakeUpOf(service, second))?.remove()
  await wake(service, [first])
  await startFollower()
  expect(await ended(second)).toMatchObject({ status: 'sent' })
})

test('of sends to one contact all have their wake-up, and only that of the first is to come now', async () => {
  const ids = await sendSome(3, await buildWebhook(accepting))
  const states = await Promise.all(ids.map(async (id) => (await wakeUpOf(service, id))?.getState()))
  expect(states).toEqual(['waiting', 'delayed', 'delayed'])
})

test('a send that is accepted while the one before it ends is woken all the same', async () => {
  const channelId = await buildWebhook(accepting)
  await startFollower()
  const pairs = Array.from({ length: 300 }, async (_, i) => {
    const contact = newContact()
    await sleep(i * 3)
    const [first = ''] = await sendSome(1, channelId, contact)
    await sleep(i % 40)
    const [second = ''] = await sendSome(1, channelId, contact)
    return [first, second]
  })
  for (const id of (await Promise.all(pairs)).flat())
    expect(await ended(id)).toMatchObject({ status: 'sent' })
})

test('the wake-up of the second of a lane wakes the head, whose own is lost', async () => {
  const ids = await sendSome(3, await buildWebhook(accepting))
  await (await wakeUpOf(service, ids[0] ?? ''))?.remove()
  await (await wakeUpOf(service, ids[1] ?? ''))?.promote()
  await startFollower()
  for (const id of ids) expect(await ended(id)).toMatchObject({ status: 'sent' })
  expect(callsOf(ids)).toEqual(ids)
})

test('when a head loses its worker, and is uncertain, the next one is woken at once, and it alone', async () => {
  const [first = '', second = '', third = ''] = await sendSome(3, await buildWebhook(accepting))
  for (const id of [first, second, third]) await (await wakeUpOf(service, id))?.remove()
  await loseAttempt(service, first, 'dead')
  await eventually('its wake-up', async () => await wakeUpOf(service, second))
  expect(await wakeUpOf(service, third)).toBeUndefined()
})

test('when a head expires, the one that goes then is woken at once', async () => {
  const channelId = await buildWebhook(accepting)
  const [one, ...others] = laneOf(3, channelId)
  const rows = await insertBatch(service, [{ ...one, expireAfterSeconds: 0 } as BatchedSend, ...others])
  const [, second = '', third = ''] = rows.map(({ requestId }) => requestId)
  await sweepOnce(service)
  await eventually('its wake-up', async () => await wakeUpOf(service, second))
  expect(await wakeUpOf(service, third)).toBeUndefined()
})

test('where a lost worker left the head to be sent again, it goes before those behind it', async () => {
  const channelId = await buildWebhook(accepting, 'resend')
  const ids = await sendSome(4, channelId)
  await loseAttempt(service, ids[0] ?? '', 'dead')
  expect(await rowOf(service, ids[0] ?? '')).toMatchObject({ status: 'queued' })
  await service.startWorker()
  for (const id of ids) expect(await ended(id)).toMatchObject({ status: 'sent' })
  expect(callsOf(ids)).toEqual(ids)
})

test('a failed one that is replayed goes before those that wait, and they after it', async () => {
  const channelId = await buildWebhook(accepting)
  const lane = laneOf(4, channelId)
  const [first = '', ...rest] = (await insertBatch(service, lane)).map(({ requestId }) => requestId)
  await endAttempt(service, await beginAttempt(service, first, 'early'), {
    outcome: 'rejected',
    reason: 'no',
  })
  expect(await replaySend(service.runtime.db, first)).toBe(true)
  await service.startWorker()
  for (const id of [first, ...rest]) expect(await ended(id)).toMatchObject({ status: 'sent' })
  expect(callsOf([first, ...rest])).toEqual([first, ...rest])
})

test('a failed one that is replayed while the next one is being sent goes before the one after that', async () => {
  const hung = gate()
  let calls = 0
  const channelId = await buildWebhook((request, response) =>
    calls++ === 0 ? answer(400)(request, response) : hung.behaviour(request, response),
  )
  const [first = '', second = '', third = ''] = await sendSome(3, channelId)
  await service.startWorker()
  expect(await ended(first)).toMatchObject({ status: 'failed' })
  await eventually('the call of the second', async () => hung.waiting === 1)
  expect(await replaySend(service.runtime.db, first)).toBe(true)
  hung.open()
  for (const id of [first, second, third]) expect(await ended(id)).toMatchObject({ status: 'sent' })
  expect(callsOf([first, third])).toEqual([first, first, third])
})

test('when the head expires the next one goes', async () => {
  const channelId = await buildWebhook(accepting)
  const lane = laneOf(2, channelId)
  const [first = '', second = ''] = await acceptBatch(service, [
    { ...lane[0], ...account, channelId, expireAfterSeconds: 3 },
    { ...lane[1], ...account, channelId },
  ])
  await beginAttempt(service, first, 'busy').then((send) =>
    endAttempt(service, send, { outcome: 'retry_later', reason: 'busy', retryAfterMs: 3_600_000 }),
  )
  await service.startWorker()
  await ended(first)
  expect(await rowOf(service, first)).toMatchObject({ status: 'failed', failure: 'expired' })
  expect(await ended(second)).toMatchObject({ status: 'sent' })
})

test('one that expires in the middle of a lane leaves the others their order', async () => {
  const hung = gate()
  const channelId = await buildWebhook(hung.behaviour)
  const [one, two, three] = laneOf(3, channelId)
  await service.startWorker()
  const ids = await acceptBatch(service, [one, { ...two, expireAfterSeconds: 1 }, three] as BatchedSend[])
  const [first = '', second = '', third = ''] = ids
  expect(await ended(second)).toMatchObject({ status: 'failed' })
  expect(callsOf(ids)).toEqual([first])
  hung.open()
  expect(await ended(third)).toMatchObject({ status: 'sent' })
  expect(callsOf(ids)).toEqual([first, third])
})
