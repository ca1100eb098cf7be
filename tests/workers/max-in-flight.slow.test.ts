import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { updateChannel } from '../../db/accounts/channels.ts'
import { grantPermits } from '../../db/delivery/permits.ts'
import { beginAttempt, endAttempt, lapse, loseAttempt, rowOf, sweepOnce } from '../support/attempts.ts'
import { startFollower } from '../support/follower.ts'
import { loseWakeUp } from '../support/queue.ts'
import { soonReconciled } from '../support/service.ts'
import { expectSooner, timed } from '../support/standstill.ts'
import { spanOf, startTraffic } from '../support/traffic.ts'
import { eventually } from '../support/wait.ts'
import { accept as accepting, type Behaviour, delay } from '../support/webhook-receiver.ts'

/**
 * Takes its time, and counts how many calls are under way.
 *
 * @param expected no call ends before so many were under way.
 */
function gauge(ms: number, expected = 1) {
  const calls = { now: 0, most: 0 }
  const behaviour: Behaviour = async (request, response) => {
    calls.most = Math.max(calls.most, ++calls.now)
    await eventually(`${expected} calls at a time`, async () => calls.most >= expected)
    await sleep(ms)
    calls.now--
    await accepting(request, response)
  }
  return { calls, behaviour }
}

test('three workers together have exactly as many calls in flight as the channel allows, in the order of accept', async (context) => {
  const traffic = await startTraffic(context)
  const { calls, behaviour } = gauge(150, 3)
  const channelId = await traffic.buildWebhook(behaviour, { maxInFlight: 3 })
  await traffic.startWorkers('a', 'b', 'c')
  const ids = await traffic.sendSome(channelId, 40)
  await traffic.expectSent(ids)
  expect(calls.most).toBe(3)
  // Sends in flight together may have passed each other on their way.
  const order = traffic.orderOf(ids)
  expect(Math.max(...ids.map((id, index) => Math.abs(order.indexOf(id) - index)))).toBeLessThan(10)
})

test('a permit counts as in flight until its attempt has ended, claimed or not', async (context) => {
  const traffic = await startTraffic(context)
  const { service } = traffic
  const { db } = service.runtime
  const channelId = await traffic.buildWebhook(accepting, { maxInFlight: 2 })
  const ids = await traffic.sendSome(channelId, 5)
  const give = async () => {
    const [given] = await grantPermits(db, [channelId], { probeSeconds: 30, validSeconds: 10 })
    // Without a rate, all have the same time, and no order.
    return given?.permits.map(({ requestId }) => requestId).toSorted()
  }
  expect(await give()).toEqual(ids.slice(0, 2))
  expect(await give()).toEqual([])
  const send = await beginAttempt(service, ids[0] ?? '', 'busy')
  await beginAttempt(service, ids[1] ?? '', 'busy')
  await db.execute(sql`update permits set valid_until = now() - interval '1 hour'`)
  expect(await give()).toEqual([])
  await endAttempt(service, send, { outcome: 'sent' })
  // The end gave the permit, which is the third's.
  expect(await give()).toEqual([])
  await db.execute(sql`update permits set valid_until = now() - interval '1 hour'`)
  expect(await give()).toEqual(ids.slice(2, 3))
})

test('many concurrent requests for permits get no more than there are', async (context) => {
  const traffic = await startTraffic(context, { DATABASE_POOL_SIZE: '10' })
  const { db } = traffic.service.runtime
  const channelId = await traffic.buildWebhook(accepting, { maxInFlight: 2 })
  await traffic.sendSome(channelId, 10)
  const given = await Promise.all(
    Array.from({ length: 10 }, () => grantPermits(db, [channelId], { probeSeconds: 30, validSeconds: 10 })),
  )
  expect(given.flatMap(([channel]) => channel?.permits ?? [])).toHaveLength(2)
})

test.concurrent('the next send goes as soon as one ends', async (context) => {
  const traffic = await startTraffic(context)
  const channelId = await traffic.buildWebhook(delay(100, accepting), { maxInFlight: 1 })
  await traffic.startWorkers('a', 'b')
  const ids = await traffic.sendSome(channelId, 12)
  await traffic.expectSent(ids)
  expect(traffic.orderOf(ids)).toEqual(ids)
  expectSooner(spanOf(traffic.callsOf(ids)), 11 * 600)
})

test.concurrent('after a pause, however short, the next send goes at once: no permit outlives its attempt', async (context) => {
  const { service, ...traffic } = await startTraffic(context)
  const { calls, behaviour } = gauge(20)
  const channelId = await traffic.buildWebhook(behaviour, { maxInFlight: 1 })
  for (const name of ['a', 'b']) await startFollower(context, service, name)
  for (const pauseMs of [0, 0, 20, 50, 100, 200, 400, 800]) {
    await sleep(pauseMs)
    const id = await traffic.send(channelId)
    const sent = async () => {
      const row = await rowOf(service, id)
      return row.status === 'sent' && row
    }
    // A permit lasts 10 s.
    expectSooner(await timed(() => eventually('its end', sent)), 5000)
  }
  expect(calls.most).toBe(1)
})

test.concurrent('the permit of a lost worker is in flight until its claim is given up', async (context) => {
  const traffic = await startTraffic(context, {}, { times: soonReconciled })
  const { service } = traffic
  const channelId = await traffic.buildWebhook(accepting, { maxInFlight: 2 })
  const [first = '', second = '', ...others] = await traffic.sendSome(channelId, 5)
  await loseAttempt(service, first, 'dead')
  await beginAttempt(service, second, 'dying')
  await beginAttempt(service, others.shift() ?? '', 'dying')
  await traffic.startWorkers('a')
  await sleep(1500)
  expect(traffic.callsOf(others)).toEqual([])
  await lapse(service, 'dying')
  await sweepOnce(service)
  await traffic.expectSent(others)
})

test.concurrent('workers that crash during calls neither raise nor lower the limit', async (context) => {
  const traffic = await startTraffic(context)
  const { calls, behaviour } = gauge(100, 3)
  const channelId = await traffic.buildWebhook(behaviour, { maxInFlight: 3, onUncertain: 'resend' })
  const ids = await traffic.sendSome(channelId, 20)
  for (const id of ids.slice(0, 6)) await loseAttempt(traffic.service, id, `dead-${id}`)
  await traffic.startWorkers('a', 'b', 'c')
  for (const id of ids) expect(await traffic.ended(id)).toMatchObject({ status: 'sent' })
  expect(calls.most).toBe(3)
})

test.concurrent('a permit that is not claimed is given to others when it expires', async (context) => {
  const traffic = await startTraffic(context, {}, { times: soonReconciled })
  const { db } = traffic.service.runtime
  const channelId = await traffic.buildWebhook(accepting, { maxInFlight: 1 })
  const ids = await traffic.sendSome(channelId, 3)
  for (const id of ids) await loseWakeUp(traffic.service, id)
  await grantPermits(db, [channelId], { probeSeconds: 30, validSeconds: 10 })
  await traffic.startWorkers('a')
  await sleep(500)
  expect(traffic.callsOf(ids)).toEqual([])
  await db.execute(sql`update permits set valid_until = now() - interval '2 s'`)
  await traffic.expectSent(ids)
})

test.concurrent('a raised limit takes effect for sends that wait already', async (context) => {
  const traffic = await startTraffic(context, {}, { times: soonReconciled })
  const { calls, behaviour } = gauge(1500)
  const channelId = await traffic.buildWebhook(behaviour, { maxInFlight: 1 })
  await traffic.startWorkers('a', 'b')
  const ids = await traffic.sendSome(channelId, 5)
  await eventually('the first call', async () => calls.now === 1)
  await updateChannel(traffic.service.runtime.db, channelId, { maxInFlight: 4 })
  await eventually('four calls in flight', async () => calls.now === 4)
  await traffic.expectSent(ids)
  expect(calls.most).toBe(4)
})

test.concurrent('without the limit all waiting sends go, also those behind others of their contact', async (context) => {
  const traffic = await startTraffic(context, {}, { times: soonReconciled })
  const { calls, behaviour } = gauge(1000)
  const channelId = await traffic.buildWebhook(behaviour, { maxInFlight: 1 })
  await traffic.startWorkers('a')
  const ids = await traffic.sendSome(channelId, 6)
  const lane = await traffic.sendLane(channelId, 2)
  await eventually('the first call', async () => calls.now === 1)
  await updateChannel(traffic.service.runtime.db, channelId, { maxInFlight: null })
  await traffic.expectSent([...ids, ...lane])
  expect(calls.most).toBeGreaterThan(3)
  expect(traffic.orderOf(lane)).toEqual(lane)
})
