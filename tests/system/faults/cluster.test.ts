import { setImmediate, setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, type TestContext, test } from 'vitest'
import { type Reaper, startReaper } from '../../../src/dev/embedded/index.ts'
import { createLogger } from '../../../src/platform/log/logger.ts'
import { createMetrics } from '../../../src/platform/metrics.ts'
import { parseRedisUrl } from '../../../src/platform/redis/address.ts'
import { slotOfKey } from '../../../src/platform/redis/key-slot.ts'
import { connectForWorkers } from '../../../src/platform/redis/redis.ts'
import { shardOfSend, shardPrefixes } from '../../../src/platform/redis/shard-names.ts'
import { openRuntime } from '../../../src/runtime.ts'
import { startWorker } from '../../../workers/worker.ts'
import { percentile } from '../../bench/figures.ts'
import { expectTheSameOverShards } from '../../support/over-shards.ts'
import { type ClusterServers, startClusterServers } from '../../support/redis-cluster.ts'
import { expectSooner, spanBetween } from '../../support/standstill.ts'
import { freshStores } from '../../support/stores.ts'
import { startTraffic } from '../../support/traffic.ts'
import { eventually } from '../../support/wait.ts'
import { answer } from '../../support/webhook-receiver.ts'

const shardCount = 3
const victim = 1
const sendEveryMs = 10
const frozenForMs = 8000
const answeredWithinMs = 1500
const othersWithinMs = 1000
const backWithinMs = 6000

let reaper: Reaper
beforeAll(() => {
  reaper = startReaper()
})
afterAll(() => reaper?.close())

async function startCluster(context: TestContext, options = {}) {
  const servers = await startClusterServers(reaper, options)
  context.onTestFinished(() => servers.stop())
  return { servers, stores: { ...(await freshStores()), redisUrl: servers.redisUrl } }
}

/** Sends one after the other, until it is stopped. */
async function startSending(context: TestContext, stores: { databaseUrl: string; redisUrl: string }) {
  const { service, ...traffic } = await startTraffic(context, { REDIS_URL: stores.redisUrl }, { stores })
  const channelId = await traffic.buildWebhook(answer(200))
  await traffic.startWorkers('worker')
  await traffic.expectSent(await traffic.sendSome(channelId, 10))
  const sent: { id: string; isVictims: boolean; startedAt: number; acceptedAt: number }[] = []
  let isOver = false
  const sending = (async () => {
    for (; !isOver; await sleep(sendEveryMs)) {
      const startedAt = performance.now()
      const id = await traffic.send(channelId)
      const isVictims = shardOfSend(id, shardCount) === victim
      sent.push({ id, isVictims, startedAt, acceptedAt: performance.now() })
    }
  })()
  await eventually('sends are on their way', async () => sent.length > 50)
  return {
    async victimsAreCalled() {
      await eventually('sends of now are called', async () => {
        await sleep(10 * sendEveryMs)
        const [last] = sent.filter(({ isVictims }) => isVictims).slice(-2)
        return last && traffic.callsOf([last.id]).length > 0
      })
    },
    /** All are called, each once, and soon if their shard was never away. */
    async expectAllCalled() {
      isOver = true
      await sending
      const ids = sent.map(({ id }) => id)
      await traffic.expectSent(ids)
      expect(traffic.orderOf(ids).sort()).toEqual([...ids].sort())
      const calledAt = new Map(traffic.callsOf(ids).map(({ headers, at }) => [headers['webhook-id'], at]))
      const others = sent.filter(({ isVictims }) => !isVictims)
      const delays = others.map(({ id, acceptedAt }) => (calledAt.get(id) ?? 0) - acceptedAt)
      expect(percentile(delays, 0.99)).toBeLessThan(othersWithinMs)
      const answers = sent.map(({ startedAt, acceptedAt }) => acceptedAt - startedAt)
      expect(Math.max(...answers)).toBeLessThan(answeredWithinMs)
    },
  }
}

test('over a Cluster of three masters, lanes keep their order, limits are exact, and board and metrics show each shard', async (context) => {
  const { servers, stores } = await startCluster(context, { withReplicas: false })
  const settings = {
    ALLOWED_PRIVATE_NETWORKS: '127.0.0.0/8',
    CLIENT_PRIVATE_NETWORKS: '127.0.0.0/8',
    REDIS_URL: stores.redisUrl,
  }
  await expectTheSameOverShards(context, stores, settings)
  for (let master = 0; master < shardCount; master++)
    expect(await servers.ask(master, (redis) => redis.dbsize()), `keys of master ${master}`).toBeGreaterThan(
      0,
    )
})

test.for([
  ['is killed', (servers: ClusterServers) => servers.killMaster(victim)],
  ['freezes for 8 s', (servers: ClusterServers) => servers.freezeMaster(victim)],
] as const)(
  'when a master %s, the sends of other shards go on, its own follow its replica, and none is lost or called twice',
  async ([, strike], context) => {
    const { servers, stores } = await startCluster(context)
    const traffic = await startSending(context, stores)
    strike(servers)
    const struckAt = performance.now()
    await eventually('its replica has taken over', () => servers.hasFailedOver(victim))
    const failedOverAt = performance.now()
    await traffic.victimsAreCalled()
    expectSooner(spanBetween(failedOverAt, performance.now()), backWithinMs)
    await sleep(Math.max(0, struckAt + frozenForMs - performance.now()))
    servers.thawMaster(victim)
    await traffic.victimsAreCalled()
    await traffic.expectAllCalled()
  },
)

test('when the slot of a shard moves to another master, its sends follow, and none is lost or called twice', async (context) => {
  const { servers, stores } = await startCluster(context, { withReplicas: false })
  const traffic = await startSending(context, stores)
  const slot = slotOfKey(shardPrefixes(shardCount)[victim] as string)
  await servers.moveSlots([slot], victim, 0)
  const movedAt = performance.now()
  await traffic.victimsAreCalled()
  expectSooner(spanBetween(movedAt, performance.now()), backWithinMs)
  await traffic.expectAllCalled()
})

test('a command of a worker that the former master of a slot refuses is executed once by the new one', async (context) => {
  const { servers } = await startCluster(context, { withReplicas: false })
  const prefix = shardPrefixes(shardCount)[victim] as string
  const connect = () => {
    const redis = connectForWorkers({
      ...{ address: parseRedisUrl(servers.redisUrl), name: `${victim}`, prefix },
      ...{ log: createLogger('silent'), metrics: createMetrics('worker') },
    })
    context.onTestFinished(() => redis.disconnect())
    return () => redis.incr(`${prefix}:count`).catch(({ message }) => message)
  }
  const [countAlways, countAfterwards] = [connect(), connect()]
  const counts = [await countAfterwards()]
  let isOver = false
  const counting = (async () => {
    for (; !isOver; await setImmediate()) counts.push(await countAlways())
  })()
  await servers.moveSlots([slotOfKey(prefix)], victim, 0)
  isOver = true
  await counting
  counts.push(await countAfterwards())
  expect(counts).toEqual(counts.map((_, index) => index + 1))
  expect(counts.length).toBeGreaterThan(2)
})

test('processes that start while a master without a replica is away serve the other shards, and its own when it is back', async (context) => {
  const { servers, stores } = await startCluster(context, { withReplicas: false })
  servers.freezeMaster(victim)
  const { service, ...traffic } = await startTraffic(context, { REDIS_URL: stores.redisUrl }, { stores })
  const channelId = await traffic.buildWebhook(answer(200))
  const runtime = openRuntime('worker', service.runtime.settings, service.runtime.log)
  const worker = startWorker(runtime, 'worker')
  context.onTestFinished(async () => {
    await worker.stop()
    await runtime.close()
  })
  const ids = await traffic.sendSome(channelId, 30)
  const others = ids.filter((id) => shardOfSend(id, shardCount) !== victim)
  expect(others.length).toBeLessThan(ids.length)
  await traffic.expectSent(others)
  expect(traffic.orderOf(ids).sort()).toEqual(others.sort())
  servers.thawMaster(victim)
  await traffic.expectSent(ids)
  expect(traffic.orderOf(ids).sort()).toEqual(ids.sort())
})
