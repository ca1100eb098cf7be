import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { holdChannel, resumeChannel } from '../../db/accounts/channels.ts'
import { beginAttempt, loseAttempt, rowOf } from '../support/attempts.ts'
import { acceptBatch } from '../support/batches.ts'
import { newContact } from '../support/builders.ts'
import { countOf, loseWakeUp, wake, wakeUpOf } from '../support/queue.ts'
import { soonReconciled } from '../support/service.ts'
import { startTraffic } from '../support/traffic.ts'
import { eventually } from '../support/wait.ts'
import {
  accept as accepting,
  answer,
  type Behaviour,
  closeAfterReading,
  failingOnce,
  firstly,
  gate,
} from '../support/webhook-receiver.ts'

const settings = { RETRY_DELAYS_SECONDS: '1,1,1', WORKER_CONCURRENCY: '4' }

test.concurrent('sends to one contact reach the provider in the order of their accept, even if each is retried', async (context) => {
  const traffic = await startTraffic(context, settings)
  const channelId = await traffic.buildWebhook(failingOnce())
  await traffic.startWorkers('a')
  const ids = await traffic.sendLane(channelId, 3)
  await traffic.expectSent(ids, 2)
  expect(traffic.orderOf(ids)).toEqual(ids.flatMap((id) => [id, id]))
})

test.concurrent('a send that waits for the one before it takes no slot, and delays neither another contact nor another channel', async (context) => {
  const traffic = await startTraffic(context, settings)
  const hung = gate()
  const slow = await traffic.buildWebhook(hung.behaviour)
  const quick = await traffic.buildWebhook(accepting)
  const contact = newContact()
  await traffic.startWorkers('a')
  const waiting = await traffic.sendLane(slow, 20, contact)
  await traffic.expectSent([await traffic.send(quick, contact), await traffic.send(quick)])
  // Its wake-up is taken before it is called.
  await eventually('the first is called', async () => traffic.orderOf(waiting).length > 0)
  await eventually('one slot taken', async () => (await countOf(traffic.service, 'queue', 'active')) === 1)
  // One whose time limit has ended meanwhile, on a slow machine, lets the next one go.
  const called = traffic.orderOf(waiting)
  expect(called).toEqual(waiting.slice(0, called.length))
  for (const id of called.slice(0, -1))
    expect(await rowOf(traffic.service, id)).toMatchObject({ status: 'uncertain' })
  hung.open()
})

test.concurrent('on a channel without an order no send waits for another', async (context) => {
  const traffic = await startTraffic(context, settings)
  const channelId = await traffic.buildWebhook(failingOnce(), { ordering: 'none' })
  // All before the first call: its retry comes a second later.
  const ids = await traffic.sendLane(channelId, 3)
  await traffic.startWorkers('a')
  for (const id of ids) await traffic.ended(id)
  expect(traffic.orderOf(ids).slice(0, 3)).toEqual(expect.arrayContaining(ids))
})

test.concurrent('the wake-up of a send behind another ends, and only the end of that other wakes the send again', async (context) => {
  const { service, ...traffic } = await startTraffic(context, settings, { times: soonReconciled })
  const channelId = await traffic.buildWebhook(accepting)
  const [first = '', second = ''] = await traffic.sendLane(channelId, 2)
  await beginAttempt(service, first, 'busy')
  await (await wakeUpOf(service, second))?.promote()
  await traffic.startWorkers('a')
  const isQueued = async (id: string) => (await wakeUpOf(service, id)) !== undefined
  await eventually('no wake-up left', async () => !(await isQueued(first)) && !(await isQueued(second)))
  // Ten runs of the reconciler.
  for (let i = 0; i < 40; i++) {
    expect(await isQueued(second)).toBe(false)
    await sleep(50)
  }
  expect(await rowOf(service, second)).toMatchObject({ status: 'queued', attempt: 0 })
})

test.for<[string, Behaviour]>([
  ['failed', answer(400)],
  ['uncertain', closeAfterReading],
])('the next one goes when the one before it is %s', async ([status, behaviour], context) => {
  const traffic = await startTraffic(context, settings)
  const channelId = await traffic.buildWebhook(firstly(behaviour, accepting))
  await traffic.startWorkers('a')
  const [first = '', second = ''] = await traffic.sendLane(channelId, 2)
  expect(await traffic.ended(first)).toMatchObject({ status })
  expect(await traffic.ended(second)).toMatchObject({ status: 'sent' })
})

test('the next one goes when the worker of the one before it is lost', async (context) => {
  const traffic = await startTraffic(context, settings)
  const channelId = await traffic.buildWebhook(accepting)
  const [first = '', second = ''] = await traffic.sendLane(channelId, 2)
  await loseAttempt(traffic.service, first, 'dead')
  await traffic.startWorkers('a')
  expect(await traffic.ended(second)).toMatchObject({ status: 'sent' })
})

test('the wake-up of a send that has ended wakes the next one: the worker may have crashed before that', async (context) => {
  const { service, ...traffic } = await startTraffic(context, settings)
  const channelId = await traffic.buildWebhook(accepting)
  const [first = '', second = ''] = await traffic.sendLane(channelId, 2)
  await loseWakeUp(service, second)
  const worker = await service.startWorker()
  await traffic.ended(first)
  await worker.stop()
  await loseWakeUp(service, second)
  await traffic.startWorkers('again')
  await wake(service, [first])
  expect(await traffic.ended(second)).toMatchObject({ status: 'sent' })
})

test('a held lane continues in order when its channel is resumed', async (context) => {
  const traffic = await startTraffic(context, settings, { times: soonReconciled })
  const channelId = await traffic.buildWebhook(accepting)
  const { db } = traffic.service.runtime
  await holdChannel(db, channelId, 'wait')
  await traffic.startWorkers('a')
  const ids = await traffic.sendLane(channelId, 5)
  await sleep(300)
  await resumeChannel(db, channelId)
  await traffic.expectSent(ids)
  expect(traffic.orderOf(ids)).toEqual(ids)
})

test('fifty contacts with ten sends each, three workers and a provider that sometimes fails: each contact in order, each send once', async (context) => {
  const traffic = await startTraffic(context, settings)
  let calls = 0
  // Never the same send as often as it has attempts.
  const once = failingOnce()
  const channelId = await traffic.buildWebhook((request, response) =>
    (calls++ % 10 === 0 ? once : accepting)(request, response),
  )
  await traffic.startWorkers('a', 'b', 'c')
  const lanes = Array.from({ length: 50 }, () => ({ contact: newContact(), ids: [] as string[] }))
  const { accountId } = traffic.account
  // In five parts: the later ones are accepted while the first are called.
  for (let part = 0; part < 5; part++) {
    const two = lanes.flatMap(({ contact: value }) => {
      const send = { accountId, channelId, contact: { type: 'phone', value } } as const
      return [send, send]
    })
    const ids = await acceptBatch(traffic.service, two)
    for (const [index, lane] of lanes.entries()) lane.ids.push(...ids.slice(2 * index, 2 * index + 2))
  }
  const all = lanes.flatMap(({ ids }) => ids)
  for (const row of await traffic.allEnded(all)) expect(row).toMatchObject({ status: 'sent' })
  for (const { ids: lane } of lanes) {
    // A retried one is called again before the next one is called.
    expect(traffic.orderOf(lane).filter((id, index, all) => id !== all[index - 1])).toEqual(lane)
  }
})
