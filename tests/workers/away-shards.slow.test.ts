import { sql } from 'drizzle-orm'
import { v7 as uuidv7 } from 'uuid'
import { expect, type TestContext, test } from 'vitest'
import type { ChannelFields } from '../../db/accounts/channels.ts'
import { connectDatabase } from '../../db/connection/client.ts'
import { permits as permitRows } from '../../db/schema.ts'
import { parseRedisUrl } from '../../src/platform/redis/address.ts'
import { createRedisBreaker } from '../../src/platform/redis/breaker.ts'
import { shardOfSend } from '../../src/platform/redis/shard-names.ts'
import { closeShards, openShards, type Shard } from '../../src/queue/shard.ts'
import { openRuntime } from '../../src/runtime.ts'
import { WakeUpFlow } from '../../workers/queue/wake-up-flow.ts'
import { besideAway, mostLookedAt } from '../../workers/sends/claim/beside-away.ts'
import { createPermits } from '../../workers/sends/claim/permits.ts'
import { startReconciler } from '../../workers/upkeep/reconcile.ts'
import { startWorker } from '../../workers/worker.ts'
import { workerTimes } from '../../workers/worker-times.ts'
import { acceptBatch, manyOf } from '../support/batches.ts'
import { rowsRead } from '../support/rows-read.ts'
import { soonReconciled, type TestService } from '../support/service.ts'
import { freshStores } from '../support/stores.ts'
import { startTcpProxy } from '../support/tcp-proxy.ts'
import { startTraffic } from '../support/traffic.ts'
import { eventually } from '../support/wait.ts'
import { accept as accepting } from '../support/webhook-receiver.ts'

const shardCount = 3
const victim = 1
/** More than the quota of the channel, and than the permits of a slow start after it. */
const victims = 24
const others = 8
const stalledAfterSeconds = 1
/** Nothing listens there. */
const nowhere = 'redis://127.0.0.1:1'

const startOverShards = async (context: TestContext) =>
  startTraffic(context, { QUEUE_SHARDS: String(shardCount) }, { stores: await freshStores() })

function idOf(isVictims: boolean): string {
  for (;;) {
    const id = uuidv7()
    if ((shardOfSend(id, shardCount) === victim) === isVictims) return id
  }
}

/** Accepts sends of the shard `victim`, then some of others. */
async function acceptBoth(service: TestService, channel: { accountId: string; channelId: string }) {
  const acceptOf = (count: number, isVictims: boolean) =>
    acceptBatch(
      service,
      manyOf(count, channel).map((send) => ({ ...send, requestId: idOf(isVictims) })),
    )
  return { ofVictim: await acceptOf(victims, true), ofOthers: await acceptOf(others, false) }
}

/** The parts of a worker, with another shard in place of `victim`. */
function openWorkersRuntime(
  context: TestContext,
  { runtime }: TestService,
  replace: (shard: Shard, opening: Parameters<typeof openShards>[0]) => Shard,
) {
  const { settings, log } = runtime
  const opened = openRuntime('worker', settings, log)
  context.onTestFinished(() => opened.close())
  const opening = { kind: 'worker', address: settings.REDIS_URL, log, metrics: opened.metrics } as const
  const shards = opened.shards.map((shard, index) => (index === victim ? replace(shard, opening) : shard))
  return { ...opened, shards }
}

/** The shard `victim`, of a Redis at another address. */
function shardAt(context: TestContext, url: string) {
  return (_shard: Shard, opening: Parameters<typeof openShards>[0]): Shard => {
    const shards = openShards({ ...opening, address: parseRedisUrl(url) }, shardCount)
    context.onTestFinished(() => closeShards(shards))
    return shards[victim] as Shard
  }
}

test.concurrent.for([
  ['a maximum in flight', { maxInFlight: 1 }, 'select'],
  ['a rate', { rateCalls: 20, rateSeconds: 1 }, 'select'],
  ['a slow start', {}, 'select'],
  ['a half-open breaker', {}, 'update channels set breaker_open_until = now()'],
] as const satisfies [string, Partial<ChannelFields>, unknown][])(
  'while a shard is away, the permits of its channel go to sends of other shards, and its own get theirs when it is back: %s',
  async ([, limits, prepare], context) => {
    const { service, ...traffic } = await startOverShards(context)
    const channelId = await traffic.buildWebhook(accepting, limits)
    await service.runtime.db.$client.query(prepare)
    const { ofVictim, ofOthers } = await acceptBoth(service, { ...traffic.account, channelId })
    const proxy = await startTcpProxy(service.stores.redisUrl)
    context.onTestFinished(() => proxy.close())
    proxy.freeze()
    const runtime = openWorkersRuntime(context, service, shardAt(context, proxy.url))
    const flow = new WakeUpFlow(runtime.metrics, runtime.shards, stalledAfterSeconds)
    const worker = startWorker(runtime, 'worker', flow, { ...workerTimes, ...soonReconciled })
    context.onTestFinished(() => worker.stop())

    await traffic.expectSent(ofOthers)
    expect(traffic.orderOf(ofVictim)).toEqual([])
    await eventually('it counts as stalled', async () =>
      flow.reasonNotReady()?.startsWith(`Sends of shard ${victim} are due`),
    )

    proxy.thaw()
    await traffic.expectSent(ofVictim)
    expect(traffic.orderOf([...ofVictim, ...ofOthers]).length).toBe(victims + others)
  },
)

test.concurrent('a shard whose Redis only returns errors counts as away, until a wake-up is added that is tried on it', async (context) => {
  const { service, ...traffic } = await startOverShards(context)
  const { db } = service.runtime
  const channelId = await traffic.buildWebhook(accepting, { maxInFlight: 1 })
  const { ofVictim, ofOthers } = await acceptBoth(service, { ...traffic.account, channelId })
  const runtime = openWorkersRuntime(context, service, (shard, opening) => ({
    ...shard,
    throughBreaker: createRedisBreaker({ ...opening, name: shard.name }, 1000),
  }))
  const { throughBreaker, overflow } = runtime.shards[victim] as Shard
  await eventually('they are connected', async () =>
    runtime.shards.every(({ redis }) => redis.status === 'ready'),
  )
  for (const _ of [1, 2]) await throughBreaker(() => Promise.reject(new Error('OOM'))).catch(() => {})
  const granter = createPermits(runtime)
  context.onTestFinished(() => granter.stop())
  expect(await granter.grant(channelId)).toEqual(ofVictim.slice(0, 1))
  const granted = async () => (await db.select().from(permitRows)).map(({ requestId }) => requestId)
  expect(await granted()).toEqual(ofOthers.slice(0, 1))

  await overflow.drain()
  await eventually('a try succeeds', async () => (await granter.grant(channelId)).length === 0)
  await db.delete(permitRows)
  await granter.grant(channelId)
  expect(await granted()).toEqual(ofVictim.slice(0, 1))
})

test.concurrent('while a shard is away, the reconciler looks again soon', async (context) => {
  const { service, ...traffic } = await startOverShards(context)
  const { db } = service.runtime
  const channelId = await traffic.buildWebhook(accepting, { maxInFlight: 1 })
  const { ofOthers } = await acceptBoth(service, { ...traffic.account, channelId })
  const runtime = openWorkersRuntime(context, service, shardAt(context, nowhere))
  const permits = createPermits(runtime)
  const times = { ...workerTimes, reconcileEveryMs: 3_600_000, reconcileAgainAfterMs: 100, overdueByMs: 0 }
  const reconciler = startReconciler(runtime, permits, undefined, times)
  context.onTestFinished(async () => {
    permits.stop()
    await reconciler.stop()
  })
  for (const _ of ['first', 'again']) {
    const granted = await eventually('a permit', async () => (await db.select().from(permitRows))[0])
    expect(granted.requestId).toBe(ofOthers[0])
    await db.delete(permitRows)
  }
})

test.concurrent.for(['force_custom_plan', 'force_generic_plan'])(
  'however many sends of a shard that is away wait, a grant reads a bounded part, and the next ones find those behind: %s',
  async (mode, context) => {
    const many = 10 * mostLookedAt
    const { service, ...traffic } = await startOverShards(context)
    const { accountId } = traffic.account
    const channelId = await traffic.buildWebhook(accepting, { maxInFlight: others })
    await service.runtime.db.execute(sql`
      insert into sends (request_id, account_id, channel_id, contact_type, contact_value, message_type, message,
                         close_conversation, overflow)
      select overlay(uuidv7()::text placing lpad(to_hex(n * ${shardCount}::int + ${victim}::int), 6, '0') from 31)::uuid,
             ${accountId}, ${channelId}, 'phone', '+4917', 'text', '{"type": "text", "text": {"value": "Hello"}}', false, true
      from generate_series(1, ${many}::int) n`)
    const { ofOthers } = await acceptBoth(service, { accountId, channelId })
    const url = new URL(service.stores.databaseUrl)
    url.searchParams.set('options', `-c plan_cache_mode=${mode}`)
    const db = connectDatabase(url.href, { poolSize: 1, queryTimeoutMs: 10_000, onConnectionLost: () => {} })
    context.onTestFinished(() => db.$client.end())
    const runtime = openWorkersRuntime(context, service, shardAt(context, nowhere))
    await eventually('the others are connected', async () =>
      runtime.shards.every(({ redis }, index) => index === victim || redis.status === 'ready'),
    )
    // However slow this machine is, no search begins again before its end.
    const grant = besideAway({ ...runtime, db }, { probeSeconds: 30, validSeconds: 10 }, 3_600_000)
    for (let page = 1; ; page++) {
      let granted: Awaited<ReturnType<typeof grant>> = []
      const read = await rowsRead(db, async () => {
        granted = await grant([channelId])
      })
      expect(read).toBeLessThan(2 * mostLookedAt)
      const [{ permits = [], moreInMs } = {}] = granted
      if (permits.length > 0) {
        expect(permits.map(({ requestId }) => requestId)).toEqual(ofOthers)
        expect(page).toBe(Math.floor((many + victims) / mostLookedAt) + 1)
        break
      }
      expect(moreInMs).toBe(0)
    }
  },
)
