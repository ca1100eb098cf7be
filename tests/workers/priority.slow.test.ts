import { expect, test } from 'vitest'
import { grantPermits } from '../../db/delivery/permits.ts'
import { permits } from '../../db/schema.ts'
import type { Priority } from '../../src/core/sends/priority.ts'
import { beginAttempt, endAttempt } from '../support/attempts.ts'
import { accept, newContact, textBody } from '../support/builders.ts'
import { loseWakeUps, queueOf } from '../support/queue.ts'
import { soonReconciled } from '../support/service.ts'
import { startTraffic, type Traffic } from '../support/traffic.ts'
import { accept as accepting, delay } from '../support/webhook-receiver.ts'

const sendsOf = (traffic: Traffic, channelId: string) => {
  const post = (priority: Priority, contact = newContact()) =>
    accept(traffic.service, { ...traffic.account, channelId }, { ...textBody('Hello', contact), priority })
  return {
    post,
    async posts(count: number, priority: Priority) {
      const ids: string[] = []
      for (let i = 0; i < count; i++) ids.push(await post(priority))
      return ids
    },
  }
}

const oneAtATime = { WORKER_CONCURRENCY: '1' }

test('of what waits on a channel, urgent sends go first, then normal ones, then bulk ones', async (context) => {
  const traffic = await startTraffic(context, oneAtATime)
  const channelId = await traffic.buildWebhook(accepting)
  const { posts } = sendsOf(traffic, channelId)
  const kinds = new Map<string, Priority>()
  for (const priority of ['bulk', 'normal', 'urgent'] as const)
    for (const id of await posts(3, priority)) kinds.set(id, priority)
  await traffic.startWorkers('a')
  const all = [...kinds.keys()]
  await traffic.expectSent(all)
  // Of those of one priority, that goes first whose wake-up is.
  const order = traffic.orderOf(all).map((id) => kinds.get(id))
  expect(order).toEqual([...Array(3).fill('urgent'), ...Array(3).fill('normal'), ...Array(3).fill('bulk')])
})

test('after Redis has lost everything, they go in the same order', async (context) => {
  const traffic = await startTraffic(context, oneAtATime, { times: soonReconciled })
  const channelId = await traffic.buildWebhook(accepting)
  const { posts } = sendsOf(traffic, channelId)
  const bulk = await posts(20, 'bulk')
  const urgent = await posts(5, 'urgent')
  await loseWakeUps(traffic.service)
  await traffic.startWorkers('a')
  await traffic.expectSent([...urgent, ...bulk])
  expect(new Set(traffic.orderOf([...urgent, ...bulk]).slice(0, 5))).toEqual(new Set(urgent))
})

test('an urgent send has a quota of its own: it goes to the ordinary queue, whatever waits of its account', async (context) => {
  const traffic = await startTraffic(context)
  const { post, posts } = sendsOf(traffic, await traffic.buildWebhook(accepting))
  await posts(20, 'bulk')
  expect(await queueOf(traffic.service, await post('normal'))).toBe('overflow')
  const urgent = await posts(17, 'urgent')
  const queues = await Promise.all(urgent.map((id) => queueOf(traffic.service, id)))
  expect(queues).toEqual([...Array(16).fill('ordinary'), 'overflow'])
})

test('an urgent send beyond its quota goes before the campaign in the overflow', async (context) => {
  const traffic = await startTraffic(context, oneAtATime)
  const channelId = await traffic.buildWebhook(delay(5, accepting))
  const { posts } = sendsOf(traffic, channelId)
  const bulk = await posts(60, 'bulk')
  const urgent = await posts(20, 'urgent')
  await traffic.startWorkers('a')
  await traffic.expectSent([...bulk, ...urgent])
  const order = traffic.orderOf([...bulk, ...urgent])
  const last = Math.max(...urgent.map((id) => order.indexOf(id)))
  // One turn in ten is of the others.
  expect(last).toBeLessThan(urgent.length + 4)
})

test('an urgent send does not wait for an earlier one of its contact that is not', async (context) => {
  const traffic = await startTraffic(context)
  const channelId = await traffic.buildWebhook(accepting)
  const { post } = sendsOf(traffic, channelId)
  const contact = newContact()
  const first = await post('bulk', contact)
  const second = await post('normal', contact)
  const attempt = await beginAttempt(traffic.service, first, 'other')
  const code = await post('urgent', contact)
  await traffic.startWorkers('a')
  await traffic.expectSent([code])
  expect(traffic.callsOf([second])).toEqual([])
  await endAttempt(traffic.service, attempt, { outcome: 'sent' })
  await traffic.expectSent([second])
})

test('two urgent sends to a contact go in their order', async (context) => {
  const traffic = await startTraffic(context)
  const channelId = await traffic.buildWebhook(delay(20, accepting))
  const { post } = sendsOf(traffic, channelId)
  const contact = newContact()
  const ids = [await post('urgent', contact), await post('urgent', contact), await post('urgent', contact)]
  await traffic.startWorkers('a', 'b')
  await traffic.expectSent(ids)
  expect(traffic.orderOf(ids)).toEqual(ids)
})

const grantTimes = { probeSeconds: 30, validSeconds: 10 }

test('of a hundred permits while all three wait, one in ten is not urgent, and one in ten of those is of a bulk send', async (context) => {
  const traffic = await startTraffic(context)
  const { service } = traffic
  const channelId = await traffic.buildWebhook(accepting, { maxInFlight: 1 })
  const { posts } = sendsOf(traffic, channelId)
  const kinds = new Map<string, Priority>()
  for (const priority of ['bulk', 'normal', 'urgent'] as const)
    for (const id of await posts(priority === 'urgent' ? 95 : 12, priority)) kinds.set(id, priority)
  const granted: (Priority | undefined)[] = []
  await grantPermits(service.runtime.db, [channelId], grantTimes)
  for (let i = 0; i < 100; i++) {
    const [permit] = await service.runtime.db.select().from(permits)
    if (!permit) throw new Error('no permit')
    granted.push(kinds.get(permit.requestId))
    // The end grants the next one.
    await endAttempt(service, await beginAttempt(service, permit.requestId, 'one'), { outcome: 'sent' })
  }
  const count = (priority: Priority) => granted.filter((one) => one === priority).length
  expect({ urgent: count('urgent'), normal: count('normal'), bulk: count('bulk') }).toEqual({
    urgent: 90,
    normal: 9,
    bulk: 1,
  })
  expect(granted.slice(0, 10)).toEqual([...Array(9).fill('urgent'), 'normal'])
})

test('permits granted many at a time are shared as one at a time', async (context) => {
  const traffic = await startTraffic(context)
  const channelId = await traffic.buildWebhook(accepting, { maxInFlight: 100 })
  const { posts } = sendsOf(traffic, channelId)
  const bulk = new Set(await posts(12, 'bulk'))
  const normal = new Set(await posts(12, 'normal'))
  await posts(95, 'urgent')
  const [channel] = await grantPermits(traffic.service.runtime.db, [channelId], grantTimes)
  const ids = (channel?.permits ?? []).map(({ requestId }) => requestId)
  expect(ids).toHaveLength(100)
  expect(ids.filter((id) => normal.has(id))).toHaveLength(9)
  expect(ids.filter((id) => bulk.has(id))).toHaveLength(1)
})

test('a send that waits beside a flood of urgent ones goes among them', async (context) => {
  const traffic = await startTraffic(context, oneAtATime)
  const channelId = await traffic.buildWebhook(delay(2, accepting))
  const { post, posts } = sendsOf(traffic, channelId)
  const bulk = await post('bulk')
  const urgent = await posts(40, 'urgent')
  await traffic.startWorkers('a')
  await traffic.expectSent([bulk, ...urgent])
  // A single slot serves both queues by turns, and its wake-up comes again when those of the quota have come.
  expect(traffic.orderOf([bulk, ...urgent]).indexOf(bulk)).toBeLessThan(urgent.length)
})

test('an urgent send that is tried again in the place of another keeps its retry', async (context) => {
  const traffic = await startTraffic(context, oneAtATime)
  let calls = 0
  const channelId = await traffic.buildWebhook((request, response) => {
    if (calls++ === 0) response.writeHead(503).end()
    else accepting(request, response)
  })
  const { post } = sendsOf(traffic, channelId)
  const [normal, urgent] = [await post('normal'), await post('urgent')]
  await traffic.startWorkers('a')
  await traffic.expectSent([normal])
  await traffic.expectSent([urgent], 2)
})
