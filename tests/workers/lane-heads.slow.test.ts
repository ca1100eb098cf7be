import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { replaySend } from '../../db/sends/replays.ts'
import { beginAttempt, endAttempt, loseAttempt, rowOf, sweepOnce } from '../support/attempts.ts'
import { acceptBatch, type BatchedSend, insertBatch, laneOf } from '../support/batches.ts'
import { newContact } from '../support/builders.ts'
import { deliverAs } from '../support/deliver-as.ts'
import { startFollower } from '../support/follower.ts'
import { alikeProviders } from '../support/providers.ts'
import { wake, wakeUpOf } from '../support/queue.ts'
import { StoodStill } from '../support/standstill.ts'
import { waitingForLocks } from '../support/stores.ts'
import { startTraffic } from '../support/traffic.ts'
import { eventually } from '../support/wait.ts'
import { accept as accepting, answer, firstly, gate } from '../support/webhook-receiver.ts'

const settings = { RETRY_DELAYS_SECONDS: '1', WORKER_CONCURRENCY: '10', PROVIDER_TIMEOUT_SECONDS: '25' }

test('the wake-up of a send that has ended wakes the next one of its lane', async (context) => {
  const { service, ...traffic } = await startTraffic(context, settings)
  const [first = '', second = ''] = await traffic.sendLane(await traffic.buildWebhook(accepting), 2)
  await (await wakeUpOf(service, first))?.remove()
  await endAttempt(service, await beginAttempt(service, first, 'early'), { outcome: 'sent' })
  await (await wakeUpOf(service, second))?.remove()
  await wake(service, [first])
  await startFollower(context, service)
  expect(await traffic.ended(second)).toMatchObject({ status: 'sent' })
})

test('a wake-up is done only when the next send of the lane has its own: a worker that crashes before leaves it in the queue', async (context) => {
  const { service, ...traffic } = await startTraffic(context, settings)
  const [first = '', second = ''] = await traffic.sendLane(await traffic.buildWebhook(accepting), 2)
  const providers = alikeProviders({ send: async () => ({ outcome: 'sent' }) })
  const deliver = await deliverAs(service, 'a', providers)
  expect(await (await wakeUpOf(service, second))?.getState()).toBe('delayed')
  await deliver(first)
  expect(await (await wakeUpOf(service, second))?.getState()).toBe('waiting')
})

test('sends to one contact all have a wake-up, and only that of the first is due now', async (context) => {
  const traffic = await startTraffic(context, settings)
  const ids = await traffic.sendLane(await traffic.buildWebhook(accepting), 3)
  const states = await Promise.all(ids.map(async (id) => (await wakeUpOf(traffic.service, id))?.getState()))
  expect(states).toEqual(['waiting', 'delayed', 'delayed'])
})

test('a send that is accepted while the one before it ends is woken, too', async (context) => {
  const { service, ...traffic } = await startTraffic(context, settings)
  const channelId = await traffic.buildWebhook(accepting)
  await startFollower(context, service)
  const pairs = Array.from({ length: 150 }, async (_, i) => {
    const contact = newContact()
    await sleep(i * 10)
    const first = await traffic.send(channelId, contact)
    await sleep(i % 40)
    return [first, await traffic.send(channelId, contact)]
  })
  await traffic.expectSent((await Promise.all(pairs)).flat()).catch((error: unknown) => {
    const late = service.logs.find(
      ({ event, reason }) => event === 'lane_not_woken' && /timeout/.test(`${reason}`),
    )
    throw late
      ? new StoodStill(`a look for the heads of lanes was given up, ${late.reason}. ${error}`)
      : error
  })
})

test('a send whose accept overlapped with the end of the one before it, with neither transaction visible to the other, is woken by that end', async (context) => {
  const { service, ...traffic } = await startTraffic(context, settings)
  const { $client } = service.runtime.db
  const channelId = await traffic.buildWebhook(accepting)
  const contact = newContact()
  const first = await traffic.send(channelId, contact)
  const attempt = await beginAttempt(service, first, 'busy')
  // The statement that records the end sees only rows from before it began, and has to wait for this lock.
  const locking = await $client.connect()
  await locking.query('begin')
  await locking.query('select from sends where request_id = $1 for update', [first])
  const end = endAttempt(service, attempt, { outcome: 'sent' })
  await eventually('the end waits', async () => (await $client.query(waitingForLocks)).rowCount === 1)
  const second = await traffic.send(channelId, contact)
  // By then the API, too, has found none that may go.
  await sleep(300)
  await locking.query('commit')
  locking.release()
  await end
  await eventually('its wake-up comes now', async () => {
    return (await (await wakeUpOf(service, second))?.getState()) === 'waiting'
  })
})

test('the wake-up of the second of a lane wakes the head, whose own is lost', async (context) => {
  const { service, ...traffic } = await startTraffic(context, settings)
  const ids = await traffic.sendLane(await traffic.buildWebhook(accepting), 3)
  await (await wakeUpOf(service, ids[0] ?? ''))?.remove()
  await (await wakeUpOf(service, ids[1] ?? ''))?.promote()
  await startFollower(context, service)
  await traffic.expectSent(ids)
  expect(traffic.orderOf(ids)).toEqual(ids)
})

test('when a head loses its worker, and is uncertain, the next one is woken at once, and it alone', async (context) => {
  const { service, ...traffic } = await startTraffic(context, settings)
  const [first = '', second = '', third = ''] = await traffic.sendLane(
    await traffic.buildWebhook(accepting),
    3,
  )
  for (const id of [first, second, third]) await (await wakeUpOf(service, id))?.remove()
  await loseAttempt(service, first, 'dead')
  await eventually('its wake-up', async () => await wakeUpOf(service, second))
  expect(await wakeUpOf(service, third)).toBeUndefined()
})

test('when a head expires, the next head is woken at once', async (context) => {
  const { service, ...traffic } = await startTraffic(context, settings)
  const channelId = await traffic.buildWebhook(accepting)
  const [one, ...others] = laneOf(3, { ...traffic.account, channelId })
  const rows = await insertBatch(service, [{ ...one, expireAfterSeconds: 0 } as BatchedSend, ...others])
  const [, second = '', third = ''] = rows.map(({ requestId }) => requestId)
  await sweepOnce(service)
  await eventually('its wake-up', async () => await wakeUpOf(service, second))
  expect(await wakeUpOf(service, third)).toBeUndefined()
})

test('a head that is sent again after its worker was lost goes before those behind it', async (context) => {
  const { service, ...traffic } = await startTraffic(context, settings)
  const channelId = await traffic.buildWebhook(accepting, { onUncertain: 'resend' })
  const ids = await traffic.sendLane(channelId, 4)
  await loseAttempt(service, ids[0] ?? '', 'dead')
  expect(await rowOf(service, ids[0] ?? '')).toMatchObject({ status: 'queued' })
  await traffic.startWorkers('a')
  for (const id of ids) expect(await traffic.ended(id)).toMatchObject({ status: 'sent' })
  expect(traffic.orderOf(ids)).toEqual(ids)
})

test('a failed one that is replayed goes before those that wait, and they after it', async (context) => {
  const { service, ...traffic } = await startTraffic(context, settings)
  const channelId = await traffic.buildWebhook(accepting)
  const lane = laneOf(4, { ...traffic.account, channelId })
  const [first = '', ...rest] = (await insertBatch(service, lane)).map(({ requestId }) => requestId)
  await endAttempt(service, await beginAttempt(service, first, 'early'), {
    outcome: 'rejected',
    fault: 'recipient',
    reason: 'no',
  })
  expect(await replaySend(service.runtime.db, first)).toBe(true)
  await traffic.startWorkers('a')
  for (const id of [first, ...rest]) expect(await traffic.ended(id)).toMatchObject({ status: 'sent' })
  expect(traffic.orderOf([first, ...rest])).toEqual([first, ...rest])
})

test('a failed one that is replayed while the next one is being sent goes before the one after that', async (context) => {
  const traffic = await startTraffic(context, settings)
  const hung = gate()
  const channelId = await traffic.buildWebhook(firstly(answer(400), hung.behaviour))
  const [first = '', second = '', third = ''] = await traffic.sendLane(channelId, 3)
  await traffic.startWorkers('a')
  expect(await traffic.ended(first)).toMatchObject({ status: 'failed' })
  await eventually('the call of the second', async () => hung.waiting === 1)
  expect(await replaySend(traffic.service.runtime.db, first)).toBe(true)
  hung.open()
  for (const id of [first, second, third]) expect(await traffic.ended(id)).toMatchObject({ status: 'sent' })
  expect(traffic.orderOf([first, third])).toEqual([first, first, third])
})

test.concurrent('when the head expires the next one goes', async (context) => {
  const { service, ...traffic } = await startTraffic(context, settings)
  const channelId = await traffic.buildWebhook(accepting)
  const [one, two] = laneOf(2, { ...traffic.account, channelId })
  const ids = await acceptBatch(service, [{ ...one, expireAfterSeconds: 3 }, two] as BatchedSend[])
  const [first = '', second = ''] = ids
  await beginAttempt(service, first, 'busy').then((send) =>
    endAttempt(service, send, {
      outcome: 'retry_later',
      fault: 'provider',
      reason: 'busy',
      retryAfterMs: 3_600_000,
    }),
  )
  await traffic.startWorkers('a')
  await traffic.ended(first)
  expect(await rowOf(service, first)).toMatchObject({ status: 'failed', failure: 'expired' })
  expect(await traffic.ended(second)).toMatchObject({ status: 'sent' })
})

test.concurrent('one that expires in the middle of a lane leaves the others their order', async (context) => {
  const traffic = await startTraffic(context, settings)
  const hung = gate()
  const channelId = await traffic.buildWebhook(hung.behaviour)
  const [one, two, three] = laneOf(3, { ...traffic.account, channelId })
  await traffic.startWorkers('a')
  const ids = await acceptBatch(traffic.service, [
    one,
    { ...two, expireAfterSeconds: 1 },
    three,
  ] as BatchedSend[])
  const [first = '', second = '', third = ''] = ids
  expect(await traffic.ended(second)).toMatchObject({ status: 'failed' })
  // On a machine that stood still the second may end before the first is called.
  await eventually('the call for the first', async () => traffic.orderOf(ids).length > 0)
  expect(traffic.orderOf(ids)).toEqual([first])
  hung.open()
  expect(await traffic.ended(third)).toMatchObject({ status: 'sent' })
  expect(traffic.orderOf(ids)).toEqual([first, third])
})
