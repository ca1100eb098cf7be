import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { accept, newContact, textBody } from '../support/builders.ts'
import { wakeUpsLeft } from '../support/queue.ts'
import { startTestService, type TestService } from '../support/service.ts'
import { expectSooner, spanBetween } from '../support/standstill.ts'
import { freshStores } from '../support/stores.ts'
import { startTraffic } from '../support/traffic.ts'
import { eventually } from '../support/wait.ts'
import { answer } from '../support/webhook-receiver.ts'

const longestStandstillMs = 3000
const sendEveryMs = 10

test.for([
  [3, 6, 4],
  [1, 3, 1],
])(
  'when the shards become %i, %i, %i under load, no send is lost or called twice, and none waits long',
  async (counts, context) => {
    const stores = await freshStores()
    const settings = { ALLOWED_PRIVATE_NETWORKS: '127.0.0.0/8' }
    const ofCount = (count: number, previous?: number) => ({
      QUEUE_SHARDS: String(count),
      QUEUE_SHARDS_PREVIOUS: String(previous ?? ''),
    })
    const [first, ...others] = counts as [number, ...number[]]
    const { service, receiver, ...traffic } = await startTraffic(context, ofCount(first), { stores })
    const channelId = await traffic.buildWebhook(answer(200))
    let api: TestService = service
    let worker = await service.startWorker(`worker-${first}`)
    const ids: string[] = []
    let isOver = false
    const sending = (async () => {
      // Each second one to the same contact, so that lanes go over the change, too.
      for (let n = 0; !isOver; n++, await sleep(sendEveryMs)) {
        const contact = n % 2 === 0 ? newContact() : '+4915112345678'
        ids.push(await accept(api, { apiKey: traffic.account.apiKey, channelId }, textBody('Hello', contact)))
      }
    })()
    const inLane = () => ids.filter((_, index) => index % 2 === 1)
    const sendMore = (count: number, from = ids.length) =>
      eventually('more sends', async () => ids.length > from + count)
    await sendMore(50)
    let former = first
    for (const count of others) {
      const both = await service.startWorker(`worker-${former}-${count}`, {
        settings: ofCount(count, former),
      })
      await worker.stop()
      api = await startTestService({ ...settings, ...ofCount(count) }, stores)
      context.onTestFinished(api.stop)
      await sendMore(50)
      worker = await service.startWorker(`worker-${count}`, { settings: ofCount(count) })
      await both.stop()
      await sendMore(50)
      former = count
    }
    isOver = true
    await sending
    await traffic.expectSent(ids)
    await eventually('no wake-up is left', async () => {
      // That of a send behind another one waits for an hour, if the send was woken in a shard of another number. It finds nothing to do.
      await Promise.all(api.runtime.shards.map(({ queue }) => queue.promoteJobs()))
      const { ordinary, overflow } = await wakeUpsLeft(api)
      return ordinary + overflow === 0
    })
    expect(traffic.orderOf(ids).sort()).toEqual([...ids].sort())
    expect(traffic.orderOf(inLane())).toEqual(inLane())
    const moments = receiver.calls.map(({ at }) => at)
    for (const [index, at] of moments.slice(1).entries())
      expectSooner(spanBetween(moments[index] as number, at), longestStandstillMs)
  },
)
