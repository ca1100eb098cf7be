import { setTimeout as sleep } from 'node:timers/promises'
import { expect, type TestContext, test } from 'vitest'
import { shardOfSend } from '../../src/platform/redis/shard-names.ts'
import { rowOf } from '../support/attempts.ts'
import { acceptBatch, manyOf } from '../support/batches.ts'
import { type Account, accept, buildAccount, buildWebhookChannel, textBody } from '../support/builders.ts'
import { countOf, loseWakeUps, queueOf, wakeUpsLeft } from '../support/queue.ts'
import { finishedTimeline, type TestService } from '../support/service.ts'
import { expectSooner, timed } from '../support/standstill.ts'
import { isOnCluster } from '../support/stores.ts'
import { startTcpProxy } from '../support/tcp-proxy.ts'
import { startTraffic } from '../support/traffic.ts'
import { eventually } from '../support/wait.ts'
import { accept as accepting, type Behaviour, delay, failingOnce, gate } from '../support/webhook-receiver.ts'

/** A service for several senders, whose workers have so many slots. */
async function startService(test: TestContext, concurrency: number, settings: Record<string, string> = {}) {
  const { service, receiver, orderOf, expectSent } = await startTraffic(test, {
    WORKER_CONCURRENCY: String(concurrency),
    PROVIDER_TIMEOUT_SECONDS: '25',
    ...settings,
  })
  const buildHook = ({ accountId }: Account, behaviour: Behaviour) =>
    buildWebhookChannel(service, accountId, receiver.at(behaviour), 'hold')
  return {
    service,
    buildHook,
    /** An account whose channel's receiver behaves like that. */
    async buildSender(behaviour: Behaviour): Promise<Account> {
      const account = await buildAccount(service)
      return { ...account, channelId: await buildHook(account, behaviour) }
    },
    /** As if the overflow of every channel had got answers until now: else it has few calls under way. */
    endSlowStart: () => service.runtime.db.$client.query('update channels set answered_at = now()'),
    /** The ids of the calls until now. */
    called: () => receiver.calls.map(({ headers }) => String(headers['webhook-id'])),
    calledOf: orderOf,
    expectSent,
    allCalled: (requestIds: readonly string[]) =>
      eventually(
        'a call for each',
        async () => orderOf(requestIds).length >= requestIds.length && { requestIds },
        25_000,
      ),
  }
}

/** In each row of twenty calls while both have some left, each has seven at the least. Each shard serves in turn by itself. */
function expectPermits(
  { runtime: { shards } }: Pick<TestService, 'runtime'>,
  calls: readonly string[],
  first: readonly string[],
  second: readonly string[],
): void {
  for (const shard of shards.keys()) {
    const ofShard = calls.filter((id) => shardOfSend(id, shards.length) === shard)
    expectTurns(ofShard, first, second, 60 / shards.length)
  }
}

function expectTurns(
  calls: readonly string[],
  first: readonly string[],
  second: readonly string[],
  fewest: number,
): void {
  const owners = calls.flatMap((id) =>
    first.includes(id) ? ['first'] : second.includes(id) ? ['second'] : [],
  )
  const begun = Math.max(owners.indexOf('first'), owners.indexOf('second'))
  const both = owners.slice(begun, Math.min(owners.lastIndexOf('first'), owners.lastIndexOf('second')))
  expect(both.length).toBeGreaterThan(fewest)
  for (let from = 0; from + 20 <= both.length; from++) {
    const ofFirst = both.slice(from, from + 20).filter((owner) => owner === 'first').length
    expect(ofFirst, both.join(' ')).toBeGreaterThanOrEqual(7)
    expect(ofFirst, both.join(' ')).toBeLessThanOrEqual(13)
  }
}

test('every send in either queue is sent, once, and no wake-up is left', async (context) => {
  const { service, buildSender, called, allCalled } = await startService(context, 8)
  const senders = [await buildSender(accepting), await buildSender(accepting)]
  await service.startWorker('one')
  await service.startWorker('two')
  const ids: string[] = []
  await Promise.all(
    senders.flatMap((sender) =>
      Array.from({ length: 60 }, async () => ids.push(await accept(service, sender, textBody()))),
    ),
  )
  await allCalled(ids)
  await eventually('the end of all wake-ups', async () => {
    const { ordinary, overflow } = await wakeUpsLeft(service)
    return ordinary + overflow === 0
  })
  for (const id of ids) expect(await rowOf(service, id)).toMatchObject({ status: 'sent', attempt: 1 })
  expect(called().toSorted()).toEqual(ids.toSorted())
})

test("a single send is called before more than a handful of another account's flood", async (context) => {
  const { service, buildSender, called, calledOf, allCalled } = await startService(context, 10)
  const flooder = await buildSender(delay(100, accepting))
  const other = await buildSender(accepting)
  await service.startWorker()
  const flood = await acceptBatch(service, manyOf(300, flooder))
  await eventually('the flood has begun', async () => calledOf(flood).length > 20)
  const before = called().length
  const single = await accept(service, other, textBody())
  await allCalled([single])
  const passed = called().indexOf(single) - before
  expect(calledOf(flood).length).toBeLessThan(250)
  expect(passed).toBeLessThan(60)
})

test('two accounts that flood are served in turn, although the sends of one were all accepted first', async (context) => {
  const { service, buildSender, called, allCalled } = await startService(context, 10)
  const [first, second] = [await buildSender(accepting), await buildSender(accepting)]
  const ofFirst = await acceptBatch(service, manyOf(150, first))
  const ofSecond = await acceptBatch(service, manyOf(150, second))
  await service.startWorker()
  await allCalled([...ofFirst, ...ofSecond])
  expectPermits(service, called(), ofFirst.slice(16), ofSecond.slice(16))
})

test('they are served in turn also if the second begins in the middle of the flood of the first', async (context) => {
  const { service, buildSender, called, allCalled } = await startService(context, 5)
  const [first, second] = [await buildSender(delay(20, accepting)), await buildSender(delay(20, accepting))]
  const ofFirst = await acceptBatch(service, manyOf(250, first))
  await service.startWorker()
  await eventually('a third of the flood', async () => called().length > 80)
  const ofSecond = await acceptBatch(service, manyOf(80, second))
  await allCalled([...ofFirst, ...ofSecond])
  expectPermits(service, called(), ofFirst.slice(16), ofSecond.slice(16))
})

test("a provider that never answers takes no other channel's slots: of the same account, and of another", async (context) => {
  const { service, buildHook, buildSender, endSlowStart, allCalled } = await startService(context, 30)
  const hung = gate()
  const flooder = await buildSender(hung.behaviour)
  const neighbour = { ...flooder, channelId: await buildHook(flooder, accepting) }
  const other = await buildSender(accepting)
  await endSlowStart()
  await service.startWorker()
  const flood = await acceptBatch(service, manyOf(60, flooder))
  // And more of the overflow, if it began before the ordinary queue had its slots.
  await eventually('all that hangs', async () => hung.waiting >= 20)
  for (const sender of [neighbour, other]) {
    for (let i = 0; i < 15; i++) {
      const id = await accept(service, sender, textBody())
      expect(await finishedTimeline(service, id, sender.apiKey)).toMatchObject({ status: 'sent' })
    }
  }
  expect(hung.waiting).toBeLessThanOrEqual(28)
  hung.open()
  await allCalled(flood)
})

test('an overflow that gets no answers has four calls in flight over all workers; after the first answer all are made', async (context) => {
  const { service, buildSender, allCalled } = await startService(context, 30)
  const hung = gate()
  const flooder = await buildSender(hung.behaviour)
  const flood = await acceptBatch(service, manyOf(60, flooder))
  for (const name of ['a', 'b']) await service.startWorker(name)
  await eventually('all that hangs', async () => hung.waiting === 20)
  await sleep(500)
  expect(hung.waiting).toBe(20)
  hung.open()
  expectSooner(await timed(() => allCalled(flood)), 3000)
})

test("a provider that never answers doesn't delay another account's overflow", async (context) => {
  const { service, buildSender, allCalled } = await startService(context, 50)
  const hung = gate()
  const hanging = await buildSender(hung.behaviour)
  const other = await buildSender(accepting)
  await service.startWorker()
  const waiting = await acceptBatch(service, manyOf(200, hanging))
  await eventually('all that hangs', async () => hung.waiting === 20)
  await allCalled(await acceptBatch(service, manyOf(100, other)))
  expect(hung.waiting).toBe(20)
  hung.open()
  await allCalled(waiting)
})

test.for([1, 2, 5, 30])(
  'with WORKER_CONCURRENCY %i exactly that many calls are in flight, from both queues together',
  async (concurrency, context) => {
    const { service, buildSender, allCalled } = await startService(context, concurrency)
    const hung = gate()
    const senders = await Promise.all(Array.from({ length: 4 }, () => buildSender(hung.behaviour)))
    const ids = await acceptBatch(
      service,
      senders.flatMap((sender) => manyOf(20, sender)),
    )
    await service.startWorker()
    await eventually('all slots taken', async () => hung.waiting >= concurrency)
    await sleep(500)
    expect(hung.waiting).toBe(concurrency)
    hung.open()
    await allCalled(ids)
  },
)

test.for<[number, number]>([
  [1, 1],
  [2, 1],
  [5, 4],
  [30, 28],
])(
  'of %i slots the overflow takes %i, and the rest stays free for others',
  async ([concurrency, forOverflow], context) => {
    const { service, buildSender, endSlowStart, allCalled } = await startService(context, concurrency)
    const hung = gate()
    const flooder = await buildSender(hung.behaviour)
    const ids = await acceptBatch(service, manyOf(60, flooder))
    await service.runtime.db.$client.query(
      "update sends set status = 'failed', finished_at = now() where not overflow",
    )
    await endSlowStart()
    await service.startWorker()
    await eventually('all that the overflow may take', async () => hung.waiting === forOverflow)
    await sleep(200)
    expect(hung.waiting).toBeLessThanOrEqual(forOverflow)
    hung.open()
    await allCalled(ids.slice(16))
  },
)

test('a worker whose slots are all taken by slow calls leaves the wake-ups of others to another worker', async (context) => {
  const { service, buildSender, endSlowStart, called, calledOf, allCalled } = await startService(context, 20)
  const [overflowHangs, alsoHangs] = [gate(), gate()]
  const inOverflow = new Set<unknown>()
  const flooder = await buildSender((request, response) => {
    const isHung = inOverflow.has(request.headers['webhook-id'])
    return (isHung ? overflowHangs.behaviour : accepting)(request, response)
  })
  const [slow, other] = [await buildSender(alsoHangs.behaviour), await buildSender(accepting)]
  await endSlowStart()
  const flood = await acceptBatch(service, manyOf(16 + 19, flooder))
  for (const id of flood.slice(16)) inOverflow.add(id)
  await service.startWorker('full')
  await eventually('the slots of the overflow', async () => overflowHangs.waiting === 19)
  const last = await acceptBatch(service, manyOf(1, slow))
  await eventually('all slots taken', async () => alsoHangs.waiting === 1)
  await service.startWorker('free')
  const others = await acceptBatch(service, manyOf(12, other))
  // One wake-up of each shard may be with the full worker, which had been waiting for it.
  const fewest = others.length - service.runtime.shards.length
  await eventually('the calls of others', async () => calledOf(others).length >= fewest, 10_000)
  overflowHangs.open()
  alsoHangs.open()
  const all = [...flood, ...last, ...others]
  await allCalled(all)
  expect(called().toSorted()).toEqual(all.toSorted())
})

test('a worker that stops begins no more calls, and leaves waiting wake-ups in their queue', async (context) => {
  const { service, buildSender, called, calledOf } = await startService(context, 5)
  const hung = gate()
  const ids = await acceptBatch(service, manyOf(30, await buildSender(hung.behaviour)))
  const worker = await service.startWorker('test-worker', { times: { finishJobsWithinMs: 30_000 } })
  await eventually('all slots taken', async () => hung.waiting === 5)
  const stopped = worker.stop()
  await sleep(300)
  hung.open()
  await stopped
  expect(calledOf(ids)).toHaveLength(5)
  const left = ids.filter((id) => !called().includes(id))
  const queues = await Promise.all(left.map((id) => queueOf(service, id)))
  for (const [index, id] of left.entries()) {
    expect(queues[index]).toBe((await rowOf(service, id)).overflow ? 'overflow' : 'ordinary')
  }
})

test('retried sends of the overflow return to it, and are sent', async (context) => {
  const { service, buildSender, expectSent } = await startService(context, 10, { RETRY_DELAYS_SECONDS: '2' })
  const sender = await buildSender(failingOnce())
  await service.startWorker()
  const ids = await acceptBatch(service, manyOf(30, sender))
  await eventually('retries in the overflow', async () => (await countOf(service, 'overflow', 'delayed')) > 0)
  await expectSent(ids, 2)
})

test('when Redis is flushed while both queues hold wake-ups, all are sent, once', async (context) => {
  const { service, buildSender, called, calledOf, expectSent } = await startService(context, 10)
  const sender = await buildSender(delay(20, accepting))
  const ids = await acceptBatch(service, manyOf(100, sender))
  const worker = await service.startWorker()
  await eventually('some are sent', async () => called().length > 20)
  await loseWakeUps(service)
  await expectSent(ids)
  expect(calledOf(ids).toSorted()).toEqual(ids.toSorted())
  await worker.stop()
})

test.skipIf(isOnCluster())(
  'a worker calls for the first wake-ups before it has fetched all that there are, however far Redis is',
  async (context) => {
    const { service, buildSender, calledOf, allCalled } = await startService(context, 1000)
    const proxy = await startTcpProxy(service.stores.redisUrl)
    context.onTestFinished(() => proxy.close())
    const senders = await Promise.all(Array.from({ length: 10 }, () => buildSender(accepting)))
    const ids = await acceptBatch(
      service,
      senders.flatMap((sender) => manyOf(16, sender)),
    )
    proxy.delay(10)
    const worker = await service.startWorker('far', { settings: { REDIS_URL: proxy.url } })
    await eventually('a call', async () => calledOf(ids).length > 0)
    expect(await countOf(service, 'queue', 'waiting')).toBeGreaterThan(100)
    proxy.delay(0)
    await allCalled(ids)
    await worker.stop()
  },
)
