import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, type TestContext, test } from 'vitest'
import { type Reaper, startReaper } from '../../../src/dev/embedded/index.ts'
import { countedBy } from '../../support/scrape.ts'
import { downAfterMs, type SentinelServers, startSentinelServers } from '../../support/sentinels.ts'
import { expectSooner, timed } from '../../support/standstill.ts'
import { freshStores } from '../../support/stores.ts'
import { startTraffic } from '../../support/traffic.ts'
import { eventually } from '../../support/wait.ts'
import { answer } from '../../support/webhook-receiver.ts'

const calledAgainWithinMs = downAfterMs + 8000
const sendEveryMs = 20
const allAwayForMs = 15_000

let reaper: Reaper
beforeAll(() => {
  reaper = startReaper()
})
afterAll(() => reaper?.close())

/** Sends one after the other, until it is stopped. */
async function startSending(context: TestContext) {
  const servers = await startSentinelServers(reaper)
  context.onTestFinished(() => servers.stop())
  const { redisUrl } = servers
  const stores = { ...(await freshStores()), redisUrl }
  const { service, ...traffic } = await startTraffic(context, { REDIS_URL: redisUrl }, { stores })
  const channelId = await traffic.buildWebhook(answer(200))
  await traffic.startWorkers('worker')
  await traffic.expectSent([await traffic.send(channelId)])
  const ids: string[] = []
  let isOver = false
  const sending = (async () => {
    for (; !isOver; await sleep(sendEveryMs)) ids.push(await traffic.send(channelId))
  })()
  await eventually('sends are on their way', async () => ids.length > 20)
  const enqueueFailures = () => countedBy(service.api.metrics.enqueueFailures)
  return {
    servers,
    async isCalledNow() {
      await eventually('a send of now is called', async () => {
        const last = ids.at(-1) as string
        await sleep(10 * sendEveryMs)
        return traffic.callsOf([last]).length > 0
      })
    },
    async expectAllCalledOnce() {
      isOver = true
      await sending
      await traffic.expectSent(ids)
      expect(traffic.orderOf(ids).sort()).toEqual([...ids].sort())
      const failuresBefore = await enqueueFailures()
      const later = await traffic.sendSome(channelId, 20)
      await traffic.expectSent(later)
      expect(await enqueueFailures()).toBe(failuresBefore)
      expect(traffic.orderOf(later).sort()).toEqual([...later].sort())
    },
  }
}

test.for([
  ['is killed', (servers: SentinelServers) => servers.killMaster()],
  ['freezes', (servers: SentinelServers) => servers.freezeMaster()],
] as const)(
  'when the master %s, wake-ups go by the one that Sentinel chooses; no send is lost or called twice',
  async ([, strike], context) => {
    const { servers, ...traffic } = await startSending(context)
    await strike(servers)
    const span = await timed(async () => {
      await eventually('Sentinel has switched', servers.hasSwitched)
      await traffic.isCalledNow()
      return {}
    })
    expectSooner(span, calledAgainWithinMs)
    await servers.restore()
    await traffic.expectAllCalledOnce()
  },
)

test('when every Redis and Sentinel has been away, wake-ups go again by themselves; no send is lost or called twice', async (context) => {
  const { servers, ...traffic } = await startSending(context)
  servers.freezeAll()
  await sleep(allAwayForMs)
  servers.thawAll()
  const span = await timed(async () => {
    await traffic.isCalledNow()
    return {}
  })
  expectSooner(span, calledAgainWithinMs)
  await traffic.expectAllCalledOnce()
})
