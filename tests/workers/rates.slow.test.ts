import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { holdChannel, resumeChannel, updateChannel } from '../../db/accounts/channels.ts'
import { grantPermits } from '../../db/delivery/permits.ts'
import { permits } from '../../db/schema.ts'
import { createWakeLanes } from '../../src/queue/wake-sends.ts'
import { createPermits } from '../../workers/sends/claim/permits.ts'
import { createClaim } from '../../workers/sends/claim.ts'
import { tooLate } from '../../workers/sends/dispatch.ts'
import { beginAttempt, endAttempt, rowOf, timelineOf } from '../support/attempts.ts'
import { acceptBatch, manyOf } from '../support/batches.ts'
import { livingWorker } from '../support/living-worker.ts'
import { countOf, loseWakeUp, loseWakeUps, wakeUpOf } from '../support/queue.ts'
import { soonReconciled } from '../support/service.ts'
import { expectOrder, expectRate, shortestSpanMs, startTraffic, wayMs } from '../support/traffic.ts'
import { eventually } from '../support/wait.ts'
import { accept as accepting, failingOnce } from '../support/webhook-receiver.ts'

const fiveASecond = { rateCalls: 5, rateSeconds: 1 }
/** So slow that a second call would come after the test. */
const oneADay = { rateCalls: 1, rateSeconds: 86_400 }

test('three workers together never exceed the rate, and lose no send and no attempt by waiting', async (context) => {
  const traffic = await startTraffic(context)
  const channelId = await traffic.buildWebhook(accepting, { rateCalls: 10, rateSeconds: 2 })
  const ids = await acceptBatch(traffic.service, manyOf(20, { ...traffic.account, channelId }))
  await traffic.startWorkers('a', 'b', 'c')
  await traffic.expectSent(ids)
  const calls = traffic.callsOf(ids)
  expect(calls).toHaveLength(20)
  expectRate(calls, 10, 2000)
})

test('permits are given in the order of accept, each for its own time, and no send gets two', async (context) => {
  const traffic = await startTraffic(context)
  const { db } = traffic.service.runtime
  // Ten a second, each permit valid for 3 s: none is over before they are all given.
  const channelId = await traffic.buildWebhook(accepting, { rateCalls: 600, rateSeconds: 60 })
  const ids = await traffic.sendSome(channelId, 30)
  const askedAt = Date.now()
  const given = await Promise.all(
    Array.from({ length: 5 }, () => grantPermits(db, [channelId], { probeSeconds: 30, validSeconds: 10 })),
  )
  const rows = await db.select().from(permits).orderBy(permits.callAt)
  expect(rows.map(({ requestId }) => requestId)).toEqual(ids.slice(0, rows.length))
  expect(given.flatMap(([channel]) => channel?.permits ?? [])).toHaveLength(rows.length)
  expect(rows.length).toBeLessThan(12 + (Date.now() - askedAt) / 105)
  const moments = rows.map(({ callAt }) => Number(callAt))
  // Long enough to claim the first one.
  expect(moments[0]).toBeGreaterThan(askedAt + 40)
  expect(Math.min(...moments.slice(1).map((at, i) => at - (moments[i] ?? 0)))).toBeGreaterThan(100)
})

test('a send is claimed only shortly before its call, however early it is woken', async (context) => {
  const { service, ...traffic } = await startTraffic(context)
  const { runtime } = service
  const channelId = await traffic.buildWebhook(accepting, { rateCalls: 2, rateSeconds: 1 })
  const [, second = ''] = await traffic.sendSome(channelId, 2)
  await livingWorker(service, 'early')
  await grantPermits(runtime.db, [channelId], { probeSeconds: 30, validSeconds: 10 })
  const early = await createClaim(runtime, 'early', createPermits(runtime))(second)
  expect('next' in early && early.next.wakeInMs).toBeGreaterThan(100)
  await loseWakeUp(service, second)
  await createWakeLanes(runtime).wakeHeadOf(second)
  expect((await wakeUpOf(service, second))?.delay).toBeGreaterThan(100)
})

test('more permits are given when their time comes, without a request', async (context) => {
  const traffic = await startTraffic(context)
  const { runtime } = traffic.service
  const channelId = await traffic.buildWebhook(accepting, { rateCalls: 200, rateSeconds: 100 })
  const ids = await traffic.sendSome(channelId, 4)
  const granter = createPermits(runtime)
  context.onTestFinished(() => granter.stop())
  expect(await granter.request(channelId, ids[0] ?? '')).toBeDefined()
  expect((await runtime.db.select().from(permits)).length).toBeLessThan(4)
  await eventually('a permit for each', async () => (await runtime.db.select().from(permits)).length === 4)
})

test('a send that was too late for its call gets the next permit, before those that fell due after it', async (context) => {
  const traffic = await startTraffic(context)
  const { service } = traffic
  const { db } = service.runtime
  const channelId = await traffic.buildWebhook(accepting, { rateCalls: 1, rateSeconds: 1 })
  const [first = '', ...others] = await traffic.sendSome(channelId, 3)
  const send = await beginAttempt(service, first, 'a')
  expect(await endAttempt(service, send, tooLate)).toEqual({ wakeInMs: 0 })
  const row = await rowOf(service, first)
  expect(row).toMatchObject({ status: 'queued', attempt: 0 })
  expect(row.nextAttemptAt.getTime()).toBeLessThan(
    (await rowOf(service, others[0] ?? '')).nextAttemptAt.getTime(),
  )
  const [retry] = (await timelineOf(service, first)).events.filter(({ event }) => event === 'retry_scheduled')
  // Its own time is over.
  expect(retry).toMatchObject({ nextAttemptAt: retry?.at })
  const granted = await eventually('the next permit', async () => (await db.select().from(permits))[0])
  expect(granted.requestId).toBe(first)
})

test('if the calls in flight are the limit, no worker requests permits before one has ended', async (context) => {
  const traffic = await startTraffic(context)
  const { db } = traffic.service.runtime
  const channelId = await traffic.buildWebhook(accepting, { ...fiveASecond, maxInFlight: 1 })
  await traffic.sendSome(channelId, 3)
  expect(await grantPermits(db, [channelId], { probeSeconds: 30, validSeconds: 10 })).toMatchObject([
    { permits: [{}], moreInMs: null },
  ])
  await sleep(300)
  expect(await grantPermits(db, [channelId], { probeSeconds: 30, validSeconds: 10 })).toMatchObject([
    { permits: [], moreInMs: null },
  ])
})

test('each channel has a rate of its own, all at once', async (context) => {
  const traffic = await startTraffic(context)
  const channelIds = await Promise.all([1, 2, 3].map(() => traffic.buildWebhook(accepting, fiveASecond)))
  await traffic.startWorkers('a', 'b')
  const sent = await Promise.all(channelIds.map((channelId) => traffic.sendSome(channelId, 10)))
  await traffic.expectSent(sent.flat())
  for (const ids of sent) {
    expectRate(traffic.callsOf(ids), 5, 1000)
  }
  // Together they are quicker than one of them may be.
  expect(shortestSpanMs(traffic.callsOf(sent.flat()), 5)).toBeLessThan(1000 - wayMs)
})

test('sends that wait for a permit take no slot: those of another channel go at once', async (context) => {
  const traffic = await startTraffic(context, { WORKER_CONCURRENCY: '2' })
  // One call in 5 s: the free channel's sends have ended long before the tenth.
  const limited = await traffic.buildWebhook(accepting, { rateCalls: 20, rateSeconds: 100 })
  const free = await traffic.buildWebhook(accepting)
  await traffic.startWorkers('a')
  const waiting = await traffic.sendSome(limited, 20)
  const quick = await traffic.sendSome(free, 10)
  await traffic.expectSent(quick)
  expect(traffic.callsOf(waiting).length).toBeLessThan(10)
  await eventually('no slot taken', async () => (await countOf(traffic.service, 'queue', 'active')) === 0)
  expect((await rowOf(traffic.service, waiting.at(-1) ?? '')).attempt).toBe(0)
})

test('sends to one contact keep their order and the rate', async (context) => {
  const traffic = await startTraffic(context)
  const channelId = await traffic.buildWebhook(accepting, fiveASecond)
  await traffic.startWorkers('a', 'b')
  const ids = await traffic.sendLane(channelId, 10)
  await traffic.expectSent(ids)
  expect(traffic.orderOf(ids)).toEqual(ids)
  expectRate(traffic.callsOf(ids), 5, 1000)
})

test('retries count, too: each needs a permit of its own', async (context) => {
  const traffic = await startTraffic(context)
  const channelId = await traffic.buildWebhook(failingOnce(), fiveASecond)
  await traffic.startWorkers('a', 'b')
  const ids = await traffic.sendSome(channelId, 8)
  await traffic.expectSent(ids, 2)
  expect(traffic.callsOf(ids)).toHaveLength(16)
  expectRate(traffic.callsOf(ids), 5, 1000)
})

test.concurrent.for([
  // A long period: permits are valid for a share of it, so that a busy machine misses none.
  ['a raised rate', { rateCalls: 60_000, rateSeconds: 60 }],
  ['no rate any more', { rateCalls: null, rateSeconds: null }],
] as const)('%s takes effect for the sends that wait already', async ([, change], context) => {
  const traffic = await startTraffic(context, {}, { times: soonReconciled })
  const channelId = await traffic.buildWebhook(accepting, oneADay)
  await traffic.startWorkers('a')
  const ids = await traffic.sendSome(channelId, 10)
  await eventually('the first call', async () => traffic.callsOf(ids).length === 1)
  await sleep(500)
  expect(traffic.orderOf(ids)).toEqual(ids.slice(0, 1))
  await updateChannel(traffic.service.runtime.db, channelId, change)
  await traffic.expectSent(ids)
})

test.concurrent('a Redis that loses all its wake-ups loses no send of a channel with a rate, and calls none twice', async (context) => {
  const traffic = await startTraffic(context, {}, { times: soonReconciled })
  const channelId = await traffic.buildWebhook(accepting, { rateCalls: 20, rateSeconds: 2 })
  await traffic.startWorkers('a', 'b')
  const ids = await traffic.sendSome(channelId, 20)
  await eventually('some calls', async () => traffic.callsOf(ids).length >= 5)
  await loseWakeUps(traffic.service)
  await traffic.expectSent(ids)
  expect(traffic.callsOf(ids)).toHaveLength(20)
})

test.concurrent('a permit whose wake-up is lost is given again, and delays the others no longer than that', async (context) => {
  const traffic = await startTraffic(context, {}, { times: { ...soonReconciled, permitValidMs: 1000 } })
  const { db } = traffic.service.runtime
  // Five hundredths of this period are more than an hour.
  const channelId = await traffic.buildWebhook(accepting, { rateCalls: 86_400, rateSeconds: 86_400 })
  const ids = await traffic.sendSome(channelId, 3)
  for (const id of ids) await loseWakeUp(traffic.service, id)
  const [given] = await grantPermits(db, [channelId], { probeSeconds: 30, validSeconds: 1 })
  expect(given?.permits.map(({ requestId }) => requestId)).toEqual(ids.slice(0, given?.permits.length))
  expect(await wakeUpOf(traffic.service, ids[0] ?? '')).toBeUndefined()
  await traffic.startWorkers('a')
  await eventually('all calls', async () => traffic.callsOf(ids).length === 3, 25_000)
  await traffic.expectSent(ids)
})

test.concurrent('a held channel with a rate gets no permits; once resumed, it continues in order, at its rate', async (context) => {
  const traffic = await startTraffic(context, {}, { times: soonReconciled })
  const { db } = traffic.service.runtime
  const channelId = await traffic.buildWebhook(accepting, { rateCalls: 30, rateSeconds: 6 })
  await holdChannel(db, channelId, 'wait')
  await traffic.startWorkers('a')
  const ids = await traffic.sendSome(channelId, 8)
  await sleep(500)
  expect(await db.select().from(permits)).toEqual([])
  expect(traffic.callsOf(ids)).toEqual([])
  await resumeChannel(db, channelId)
  await traffic.expectSent(ids)
  const calls = traffic.callsOf(ids)
  expectOrder(calls, ids, 2)
  // Seven times 0.21 s, less what the first may come late.
  expectRate(calls, 7, 1470 - 300)
})

test.concurrent('permits are void once their channel was held: their calls may have been made', async (context) => {
  const traffic = await startTraffic(context)
  const { db } = traffic.service.runtime
  const channelId = await traffic.buildWebhook(accepting, oneADay)
  await traffic.sendSome(channelId, 1)
  await grantPermits(db, [channelId], { probeSeconds: 30, validSeconds: 10 })
  expect(await db.select().from(permits)).toHaveLength(1)
  await holdChannel(db, channelId, 'refused')
  await resumeChannel(db, channelId)
  expect(await grantPermits(db, [channelId], { probeSeconds: 30, validSeconds: 10 })).toMatchObject([
    { permits: [], isFull: true },
  ])
  expect(await db.select().from(permits)).toEqual([])
})
