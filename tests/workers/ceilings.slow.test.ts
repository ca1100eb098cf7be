import { eq } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { setCeilings } from '../../db/ceilings/ceilings.ts'
import { ceilings } from '../../db/schema.ts'
import { parseCeiling } from '../../src/core/accounts/ceiling.ts'
import type { Timeline } from '../../src/core/sends/timeline.ts'
import { beginAttempt, lapse } from '../support/attempts.ts'
import { accept, newContact, request, textBody } from '../support/builders.ts'
import { runCli, startCli } from '../support/cli.ts'
import { inSeconds, makeDue } from '../support/later.ts'
import { loseWakeUps } from '../support/queue.ts'
import { soonReconciled } from '../support/service.ts'
import { startTraffic, type Traffic } from '../support/traffic.ts'
import { eventually } from '../support/wait.ts'
import { accept as accepting, answer, failingOnce } from '../support/webhook-receiver.ts'

/** By month: no test runs into the next one, but in the last minute of a month. */
const month = (amount: number, unit = 'messages') => parseCeiling(`${amount} ${unit}/month`)

async function limit(traffic: Traffic, ownerId: string, ...wanted: ReturnType<typeof month>[]) {
  const { accountId } = traffic.account
  await setCeilings(
    traffic.service.runtime.db,
    { ownerId, accountId },
    wanted.filter((one) => one !== undefined),
  )
}

const usedOf = async (traffic: Traffic, ownerId: string) => {
  const { db } = traffic.service.runtime
  return (await db.select().from(ceilings).where(eq(ceilings.ownerId, ownerId))).map(({ used }) => used)
}

const timeline = async (traffic: Traffic, requestId: string) => {
  const headers = { Authorization: `Bearer ${traffic.account.apiKey}` }
  return (await request(traffic.service, `/v1/messages/${requestId}`, { headers })).body as Timeline
}

/** The sends that are put off until the next period. */
const postponed = async (traffic: Traffic, ids: readonly string[]) => {
  const timelines = await Promise.all(ids.map((id) => timeline(traffic, id)))
  return timelines.filter(({ events }) => events.at(-1)?.event === 'postponed')
}

const allPostponed = (traffic: Traffic, ids: readonly string[], count: number) =>
  eventually('the others to be postponed', async () => (await postponed(traffic, ids)).length === count)

/** Begins the next period of all ceilings, and makes what waits for it due, as if the time had come. */
async function nextPeriod({ service }: Traffic) {
  const { $client } = service.runtime.db
  await $client.query(`update ceilings set starts_at = '-infinity'`)
  await $client.query(`update sends set next_attempt_at = clock_timestamp(),
                         channel_counted_at = channel_counted_at - interval '32 days'
                       where finished_at is null`)
}

test('several workers call exactly as many sends as the ceiling allows, through lost workers and a flushed Redis, and the others wait for the next period', async (context) => {
  const traffic = await startTraffic(context, {}, { times: soonReconciled })
  const channelId = await traffic.buildWebhook(accepting)
  const ids = await traffic.sendSome(channelId, 50)
  await limit(traffic, channelId, month(20))
  await loseWakeUps(traffic.service)
  // Two workers that die: one before the call, which gives its place to its send again, and one of whose call nothing is known.
  const [first, second] = ids as [string, string]
  await traffic.service.runtime.db.$client.query(
    `update sends set status = 'sending', worker = 'dead', claim_id = uuidv7(), attempt = 1, claimed_at = now() - interval '1 hour',
       channel_counted_at = now() where request_id = $1`,
    [first],
  )
  await traffic.service.runtime.db.$client.query(
    `update ceilings set used = 1, starts_at = date_trunc('month', now(), 'UTC')`,
  )
  await beginAttempt(traffic.service, second, 'lost')
  await lapse(traffic.service, 'lost')
  await traffic.startWorkers('a', 'b', 'c')
  await eventually('half of the calls', async () => traffic.callsOf(ids).length >= 8)
  await loseWakeUps(traffic.service)
  await allPostponed(traffic, ids, 30)
  expect(await usedOf(traffic, channelId)).toEqual([20])
  const statusesOfLost = async () =>
    (await Promise.all([first, second].map((id) => timeline(traffic, id)))).map(({ status }) => status)
  await eventually('the end of the lost', async () => String(await statusesOfLost()) === 'sent,uncertain')
  expect(new Set(traffic.orderOf(ids)).size).toBe(19)
  expect(traffic.callsOf(ids)).toHaveLength(19)
  await nextPeriod(traffic)
  await allPostponed(traffic, ids, 10)
  expect(new Set(traffic.orderOf(ids)).size).toBe(39)
})

test('a send beyond the ceiling says which, and until when, in its timeline and on its page', async (context) => {
  const traffic = await startTraffic(context)
  const channelId = await traffic.buildWebhook(accepting)
  const ids = await traffic.sendSome(channelId, 2)
  await limit(traffic, channelId, month(1))
  await traffic.startWorkers('a')
  await allPostponed(traffic, ids, 1)
  const [waits] = await postponed(traffic, ids)
  const until = new Date()
  until.setUTCMonth(until.getUTCMonth() + 1, 1)
  until.setUTCHours(0, 0, 0, 0)
  const day = until.toISOString().slice(0, 10)
  const reason = `the ceiling of 1 messages/month of the channel until ${day} 00:00 UTC`
  expect(waits?.events.at(-1)).toMatchObject({ reason, nextAttemptAt: until.toISOString() })
  const trace = startCli(traffic.service, {}, 'trace', String(waits?.requestId))
  expect((await trace.ended).stdout.replace(/\s+/g, ' ')).toContain(`Waiting for ${reason}.`)
})

test('a scheduled send is checked when it is due: beyond the ceiling it waits for the next period', async (context) => {
  const traffic = await startTraffic(context)
  const channelId = await traffic.buildWebhook(accepting)
  await limit(traffic, channelId, month(1))
  const body = { ...textBody('later', newContact()), sendAt: inSeconds(3600) }
  const later = await accept(traffic.service, { ...traffic.account, channelId }, body)
  await traffic.startWorkers('a')
  const now = await traffic.sendSome(channelId, 1)
  await traffic.expectSent(now)
  await makeDue(traffic.service, later)
  await allPostponed(traffic, [later], 1)
  expect(traffic.callsOf([later])).toEqual([])
})

test('a retry does not count again, and goes although the ceiling is reached', async (context) => {
  const traffic = await startTraffic(context)
  const channelId = await traffic.buildWebhook(failingOnce())
  await limit(traffic, channelId, month(1))
  const [id] = await traffic.sendSome(channelId, 1)
  await traffic.startWorkers('a')
  await traffic.expectSent([String(id)], 2)
  expect(await usedOf(traffic, channelId)).toEqual([1])
})

test('a replay counts again, and waits if the ceiling is reached', async (context) => {
  const traffic = await startTraffic(context, {}, { times: soonReconciled })
  const channelId = await traffic.buildWebhook(answer(400))
  await limit(traffic, channelId, month(1))
  const [id] = (await traffic.sendSome(channelId, 1)) as [string]
  await traffic.startWorkers('a')
  await eventually('its failure', async () => (await timeline(traffic, id)).status === 'failed')
  expect((await runCli(traffic.service, 'replay', id)).status).toBe(0)
  await allPostponed(traffic, [id], 1)
  expect(traffic.callsOf([id])).toHaveLength(1)
  await limit(traffic, channelId, month(2))
  await eventually('its second failure', async () => (await timeline(traffic, id)).status === 'failed')
  expect(await usedOf(traffic, channelId)).toEqual([2])
})

test('a fallback counts on its channel, and for its account once', async (context) => {
  const traffic = await startTraffic(context)
  const second = await traffic.buildWebhook(accepting)
  const first = await traffic.buildWebhook(answer(503), { fallbackChannelId: second })
  await limit(traffic, second, month(1))
  await limit(traffic, first, month(5))
  await limit(traffic, traffic.account.accountId, month(1))
  const [id] = await traffic.sendSome(first, 1)
  await traffic.startWorkers('a')
  const ended = await traffic.ended(String(id))
  expect(ended).toMatchObject({ status: 'sent' })
  for (const owner of [first, second, traffic.account.accountId])
    expect([owner, await usedOf(traffic, owner)]).toEqual([owner, [1]])
})

test("an account's ceiling holds for all its channels together", async (context) => {
  const traffic = await startTraffic(context, { WORKER_CONCURRENCY: '1' })
  const channelIds = [await traffic.buildWebhook(accepting), await traffic.buildWebhook(accepting)]
  const ids: string[] = []
  for (const channelId of channelIds) ids.push(...(await traffic.sendSome(channelId, 4)))
  await limit(traffic, traffic.account.accountId, month(3))
  await traffic.startWorkers('a', 'b')
  await allPostponed(traffic, ids, 5)
  expect(traffic.callsOf(ids)).toHaveLength(3)
})

test('segments count as they are billed: a shorter text goes where a longer one would pass the ceiling', async (context) => {
  const traffic = await startTraffic(context)
  const { channelId } = traffic.account
  const text = (length: number) =>
    accept(traffic.service, traffic.account, textBody('a'.repeat(length), newContact()))
  const ids = [await text(306), await text(459), await text(10)]
  await limit(traffic, channelId, month(4, 'segments'))
  await traffic.startWorkers('a')
  await allPostponed(traffic, ids, 1)
  expect((await timeline(traffic, String(ids[1]))).events.at(-1)?.reason).toContain('4 segments/month')
  expect(await usedOf(traffic, channelId)).toEqual([3])
})

test('a ceiling that is raised or taken off lets its sends go at once, as far as it allows', async (context) => {
  const traffic = await startTraffic(context, {}, { times: soonReconciled })
  const channelId = await traffic.buildWebhook(accepting, { rateCalls: 100, rateSeconds: 1 })
  const ids = await traffic.sendSome(channelId, 6)
  await limit(traffic, channelId, month(2))
  await traffic.startWorkers('a')
  await allPostponed(traffic, ids, 4)
  await limit(traffic, channelId, month(4))
  await eventually('two more calls', async () => traffic.callsOf(ids).length === 4)
  await allPostponed(traffic, ids, 2)
  await limit(traffic, channelId)
  await traffic.expectSent(ids)
})
