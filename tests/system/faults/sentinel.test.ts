import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { startReaper } from '../../../src/dev/embedded/index.ts'
import { countedBy } from '../../support/scrape.ts'
import { downAfterMs, type SentinelServers, startSentinelServers } from '../../support/sentinels.ts'
import { expectSooner, timed } from '../../support/standstill.ts'
import { freshStores } from '../../support/stores.ts'
import { startTraffic } from '../../support/traffic.ts'
import { eventually } from '../../support/wait.ts'
import { answer } from '../../support/webhook-receiver.ts'

const calledAgainWithinMs = downAfterMs + 8000
const sendEveryMs = 20

test.for([
  ['is killed', (servers: SentinelServers) => servers.killFirstMaster()],
  ['freezes', (servers: SentinelServers) => servers.freezeFirstMaster()],
] as const)(
  'when the master %s, wake-ups go by the one that Sentinel chooses; no send is lost or called twice',
  async ([, strike], context) => {
    const reaper = startReaper()
    const servers = await startSentinelServers(reaper)
    context.onTestFinished(async () => {
      await servers.stop()
      await reaper.close()
    })
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
    strike(servers)
    const span = await timed(async () => {
      await eventually('Sentinel has switched', servers.hasSwitched)
      await eventually('a send of now is called', async () => {
        const last = ids.at(-1) as string
        await sleep(10 * sendEveryMs)
        return traffic.callsOf([last]).length > 0
      })
      return {}
    })
    isOver = true
    await sending
    servers.thawFirstMaster()
    expectSooner(span, calledAgainWithinMs)
    await traffic.expectSent(ids)
    expect(traffic.orderOf(ids).sort()).toEqual([...ids].sort())

    const enqueueFailures = () => countedBy(service.api.metrics.enqueueFailures)
    const failuresBefore = await enqueueFailures()
    const later = await traffic.sendSome(channelId, 20)
    await traffic.expectSent(later)
    expect(await enqueueFailures()).toBe(failuresBefore)
    expect(traffic.orderOf(later).sort()).toEqual([...later].sort())
  },
)
