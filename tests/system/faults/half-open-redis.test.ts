import { expect, test } from 'vitest'
import { startFollower } from '../../support/follower.ts'
import { redisReady } from '../../support/redis-ready.ts'
import { countedBy } from '../../support/scrape.ts'
import { freshStores } from '../../support/stores.ts'
import { startTcpProxy } from '../../support/tcp-proxy.ts'
import { startTraffic } from '../../support/traffic.ts'
import { eventually } from '../../support/wait.ts'
import { answer } from '../../support/webhook-receiver.ts'

const replacedWithinMs = 5000
/** As often as each connection is looked at, in the same process: a slow machine delays these ticks as it delays the looks. */
const tickMs = 250
/** The API's, the worker's, and one on which each of its two queues is waited for. */
const connections = ['commands', 'commands', 'wake_ups', 'wake_ups']

test('half-open connections to Redis are replaced, and wake-ups reach the workers again', async (context) => {
  const stores = await freshStores()
  const proxy = await startTcpProxy(stores.redisUrl)
  context.onTestFinished(() => proxy.close())
  const { service, ...traffic } = await startTraffic(context, { REDIS_URL: proxy.url }, { stores })
  const channelId = await traffic.buildWebhook(answer(200))
  // No reconciler: only a wake-up brings it to a send.
  await startFollower(context, service)
  await traffic.expectSent([await traffic.send(channelId)])

  expect(proxy.swallowOpen()).toBe(connections.length)
  const replaced = () => service.logs.filter(({ event }) => event === 'redis_connection_replaced')
  let ticks = 0
  const ticking = setInterval(() => ticks++, tickMs)
  context.onTestFinished(() => clearInterval(ticking))
  await eventually('all are replaced', async () => replaced().length === connections.length)
  expect(ticks * tickMs).toBeLessThan(replacedWithinMs)
  await redisReady(service)
  await traffic.expectSent([await traffic.send(channelId)])
  expect(
    replaced()
      .map(({ connection }) => connection)
      .sort(),
  ).toEqual(connections)
  expect(replaced().every(({ reason }) => reason === 'Redis no longer answered on it')).toBe(true)
  expect(await countedBy(service.api.metrics.redisConnectionsReplaced)).toBe(1)
})
