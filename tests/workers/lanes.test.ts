import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { holdChannel, resumeChannel } from '../../db/channels.ts'
import type { Ordering } from '../../src/core/lane.ts'
import { beginAttempt, loseAttempt, rowOf } from '../support/attempts.ts'
import {
  type Account,
  accept,
  buildAccount,
  buildWebhookChannel,
  newContact,
  textBody,
} from '../support/builders.ts'
import { wake, wakeUpOf } from '../support/queue.ts'
import { finishedTimeline, startTestService, type TestService } from '../support/service.ts'
import { eventually } from '../support/wait.ts'
import {
  accept as accepting,
  answer,
  type Behaviour,
  delay,
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

/** A service with a worker, and its own queue, for each test: what waits in one must not stand in another's way. */
beforeEach(async () => {
  service = await startTestService({
    ALLOWED_PRIVATE_NETWORKS: '127.0.0.0/8',
    RETRY_DELAYS_SECONDS: '1,1,1',
    WORKER_CONCURRENCY: '4',
  })
  account = await buildAccount(service)
  return () => service.stop()
})

const buildWebhook = (behaviour: Behaviour, ordering: Ordering = 'contact') =>
  buildWebhookChannel(service, account.accountId, receiver.at(behaviour), 'hold', { ordering })

/** Answers each send's first call with 503. */
function failingOnce(): Behaviour {
  const seen = new Set<unknown>()
  return (request, response) => {
    const id = request.headers['webhook-id']
    if (seen.has(id)) return accepting(request, response)
    seen.add(id)
    return answer(503)(request, response)
  }
}

const send = (channelId: string, contact: string) =>
  accept(service, { ...account, channelId }, textBody('Hello', contact))

async function sendSome(count: number, channelId: string, contact = newContact()): Promise<string[]> {
  const ids: string[] = []
  for (let i = 0; i < count; i++) ids.push(await send(channelId, contact))
  return ids
}

const ended = (requestId: string) => finishedTimeline(service, requestId, account.apiKey)

/** The ids of the calls about these sends, in the order in which they came. */
function callsOf(requestIds: readonly string[]): string[] {
  return receiver.calls
    .map(({ headers }) => String(headers['webhook-id']))
    .filter((requestId) => requestIds.includes(requestId))
}

test('sends to one contact reach the provider in the order of their accept, also where each is retried', async () => {
  const channelId = await buildWebhook(failingOnce())
  await service.startWorker()
  const ids = await sendSome(3, channelId)
  for (const id of ids) expect(await ended(id)).toMatchObject({ status: 'sent', attempts: 2 })
  expect(callsOf(ids)).toEqual(ids.flatMap((id) => [id, id]))
})

test('a send that waits for the one before it takes no slot, and holds up neither another contact nor another channel', async () => {
  const slow = await buildWebhook(delay(1500, accepting))
  const quick = await buildWebhook(accepting)
  const contact = newContact()
  await service.startWorker()
  const waiting = await sendSome(20, slow, contact)
  const [elsewhere, toAnother] = [await send(quick, contact), await send(quick, newContact())]
  for (const id of [elsewhere, toAnother]) expect(await ended(id)).toMatchObject({ status: 'sent' })
  expect(callsOf(waiting)).toEqual(waiting.slice(0, 1))
  expect(await service.runtime.queue.getJobCounts('active', 'waiting', 'delayed')).toMatchObject({
    active: 1,
  })
})

test('on a channel of no order nobody waits for anybody', async () => {
  const channelId = await buildWebhook(failingOnce(), 'none')
  await service.startWorker()
  const ids = await sendSome(3, channelId)
  for (const id of ids) await ended(id)
  expect(callsOf(ids).slice(0, 3)).toEqual(expect.arrayContaining(ids))
})

test.each<[string, Behaviour, string]>([
  ['failed', answer(400), 'failed'],
  ['uncertain', ({ socket }) => socket.destroy(), 'uncertain'],
])('the next one goes when the one before it is %s', async (_, behaviour, status) => {
  let calls = 0
  const channelId = await buildWebhook((request, response) =>
    calls++ === 0 ? behaviour(request, response) : accepting(request, response),
  )
  await service.startWorker()
  const [first = '', second = ''] = await sendSome(2, channelId)
  expect(await ended(first)).toMatchObject({ status })
  expect(await ended(second)).toMatchObject({ status: 'sent' })
})

test('the next one goes when the worker of the one before it is lost', async () => {
  const channelId = await buildWebhook(accepting)
  const contact = newContact()
  const first = await send(channelId, contact)
  const second = await send(channelId, contact)
  await loseAttempt(service, first, 'dead')
  await service.startWorker()
  expect(await ended(second)).toMatchObject({ status: 'sent' })
})

test('a wake-up of one that is behind ends, and nothing but the end of the one before it wakes it again', async () => {
  const channelId = await buildWebhook(accepting)
  const contact = newContact()
  const first = await send(channelId, contact)
  const second = await send(channelId, contact)
  await beginAttempt(service, first, 'busy')
  await (await wakeUpOf(service, second))?.promote()
  await service.startWorker()
  const isQueued = async (id: string) => (await wakeUpOf(service, id)) !== undefined
  await eventually('no wake-up left', async () => !(await isQueued(first)) && !(await isQueued(second)))
  for (let i = 0; i < 60; i++) {
    expect(await isQueued(second)).toBe(false)
    await sleep(100)
  }
  expect(await rowOf(service, second)).toMatchObject({ status: 'queued', attempt: 0 })
})

test('the wake-up of a send that has ended wakes the next one: its worker may have died before it did', async () => {
  const channelId = await buildWebhook(accepting)
  const contact = newContact()
  const [first, second] = [await send(channelId, contact), await send(channelId, contact)]
  await service.runtime.queue.remove(second)
  const worker = await service.startWorker()
  await ended(first)
  await worker.stop()
  await service.runtime.queue.remove(second)
  const again = await service.startWorker('again')
  await wake(service, [first])
  expect(await ended(second)).toMatchObject({ status: 'sent' })
  await again.stop()
})

test('a held lane goes on in order when its channel is resumed', async () => {
  const channelId = await buildWebhook(accepting)
  const { db } = service.runtime
  await holdChannel(db, channelId, 'wait')
  await service.startWorker()
  const ids = await sendSome(5, channelId)
  await sleep(300)
  await resumeChannel(db, channelId)
  for (const id of ids) expect(await ended(id)).toMatchObject({ status: 'sent' })
  expect(callsOf(ids)).toEqual(ids)
})

test('fifty contacts with ten sends each, three workers and a provider that fails now and then: each in order, each once', async () => {
  let calls = 0
  const channelId = await buildWebhook((request, response) =>
    calls++ % 10 === 0 ? answer(503)(request, response) : accepting(request, response),
  )
  for (const name of ['a', 'b', 'c']) await service.startWorker(name)
  const contacts = Array.from({ length: 50 }, newContact)
  const lanes = await Promise.all(contacts.map((contact) => sendSome(10, channelId, contact)))
  for (const id of lanes.flat()) expect(await ended(id)).toMatchObject({ status: 'sent' })
  for (const lane of lanes) {
    // A retried one is called again before the next one is called.
    expect(callsOf(lane).filter((id, index, all) => id !== all[index - 1])).toEqual(lane)
  }
}, 60_000)
