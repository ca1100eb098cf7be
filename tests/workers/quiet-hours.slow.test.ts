import { eq, sql } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { type ChannelFields, updateChannel } from '../../db/accounts/channels.ts'
import { sends } from '../../db/schema.ts'
import type { QuietHours } from '../../src/core/channels/quiet-hours.ts'
import type { Priority } from '../../src/core/sends/priority.ts'
import type { Timeline } from '../../src/core/sends/timeline.ts'
import { timelineOf } from '../support/attempts.ts'
import { accept, newContact, request, textBody } from '../support/builders.ts'
import { runCli } from '../support/cli.ts'
import { loseWakeUps } from '../support/queue.ts'
import { soonReconciled } from '../support/service.ts'
import { startTraffic, type Traffic } from '../support/traffic.ts'
import { eventually } from '../support/wait.ts'
import { accept as accepting, answer, delay, failingOnce } from '../support/webhook-receiver.ts'

/** By the clock of UTC, with seconds, as PostgreSQL takes them. */
const clock = (inMs: number) => new Date(Date.now() + inMs).toISOString().slice(11, 19)
const hourMs = 3_600_000

const quiet = (fromMs: number, untilMs: number, change: Partial<QuietHours> = {}): QuietHours => ({
  ...{ from: clock(fromMs), until: clock(untilMs), byContact: false, zone: 'UTC' },
  priorities: ['normal', 'bulk'],
  ...change,
})
const forAnHour = (change: Partial<QuietHours> = {}) => quiet(-hourMs, hourMs, change)

const post = (traffic: Traffic, channelId: string, priority: Priority = 'normal', contact = newContact()) =>
  accept(traffic.service, { ...traffic.account, channelId }, { ...textBody('Hello', contact), priority })

const postponed = (traffic: Traffic, requestId: string) =>
  eventually('its postponement', async () => {
    const headers = { Authorization: `Bearer ${traffic.account.apiKey}` }
    const { body } = await request(traffic.service, `/v1/messages/${requestId}`, { headers })
    return (body as Timeline).events.findLast(({ event }) => event === 'postponed')
  })

const set = (traffic: Traffic, channelId: string, fields: Partial<ChannelFields>) =>
  updateChannel(traffic.service.runtime.db, channelId, fields)

test('a send that is due in quiet hours waits for their end, which its timeline tells, and an urgent one goes', async (context) => {
  const traffic = await startTraffic(context)
  const channelId = await traffic.buildWebhook(accepting, { quietHours: forAnHour() })
  const [normal, bulk] = [await post(traffic, channelId), await post(traffic, channelId, 'bulk')]
  const urgent = await post(traffic, channelId, 'urgent')
  await traffic.startWorkers('a')
  for (const id of [normal, bulk]) {
    const event = await postponed(traffic, id)
    expect(event?.reason).toMatch(/^quiet hours until \d{4}-\d\d-\d\d \d\d:\d\d \(UTC\)$/)
    const waitMs = Date.parse(String(event?.nextAttemptAt)) - Date.now()
    expect(waitMs).toBeGreaterThan(hourMs - 120_000)
    expect(waitMs).toBeLessThanOrEqual(hourMs)
    expect((await timelineOf(traffic.service, id)).nextAttemptAt).toBe(event?.nextAttemptAt)
  }
  await traffic.expectSent([urgent])
  expect((await timelineOf(traffic.service, urgent)).nextAttemptAt).toBeNull()
  expect(traffic.orderOf([normal, bulk, urgent])).toEqual([urgent])
})

test('at the end of the hours they go, the most urgent first, and none goes twice', async (context) => {
  const traffic = await startTraffic(context, { WORKER_CONCURRENCY: '1' })
  const quietHours = quiet(-hourMs, 6000, { priorities: ['urgent', 'normal', 'bulk'] })
  const channelId = await traffic.buildWebhook(accepting, { quietHours })
  const ids: string[] = []
  for (const priority of ['bulk', 'normal', 'urgent'] as const)
    for (let i = 0; i < 3; i++) ids.push(await post(traffic, channelId, priority))
  await traffic.startWorkers('a')
  await Promise.all(ids.map((id) => postponed(traffic, id)))
  expect(traffic.callsOf(ids)).toEqual([])
  await traffic.expectSent(ids)
  const order = traffic.orderOf(ids)
  expect(order).toHaveLength(ids.length)
  expect(new Set(order.slice(0, 3))).toEqual(new Set(ids.slice(6)))
})

test('a number of a zone waits by its own clock, and by the clock of the channel where it has none', async (context) => {
  const traffic = await startTraffic(context)
  const zone = 'Asia/Kolkata'
  const local = (inMs: number) =>
    new Date(Date.now() + inMs).toLocaleTimeString('en-GB', { timeZone: zone, hour12: false })
  const hours = { from: local(-hourMs), until: local(hourMs), byContact: true, zone: 'UTC' }
  const quietHours = { ...hours, priorities: ['normal', 'bulk'] as Priority[] }
  const channelId = await traffic.buildWebhook(accepting, { quietHours })
  const indian = await post(traffic, channelId, 'normal', '+919812345678')
  const german = await post(traffic, channelId, 'normal', '+4915112345678')
  await traffic.startWorkers('a')
  expect((await postponed(traffic, indian))?.reason).toMatch(/ \(Asia\/(Kolkata|Calcutta)\)$/)
  await traffic.expectSent([german])
})

test('quiet hours that are taken off let its sends go at once', async (context) => {
  const traffic = await startTraffic(context, {}, { times: soonReconciled })
  const channelId = await traffic.buildWebhook(accepting, { quietHours: forAnHour() })
  const ids = [await post(traffic, channelId), await post(traffic, channelId, 'bulk')]
  await traffic.startWorkers('a')
  await Promise.all(ids.map((id) => postponed(traffic, id)))
  await set(traffic, channelId, { quietHours: null })
  await traffic.expectSent(ids)
})

test('after Redis has lost everything, sends in quiet hours stay, and go at their end', async (context) => {
  const traffic = await startTraffic(context, {}, { times: soonReconciled })
  const channelId = await traffic.buildWebhook(accepting, { quietHours: quiet(-hourMs, 6000) })
  const ids = [await post(traffic, channelId), await post(traffic, channelId, 'bulk')]
  await loseWakeUps(traffic.service)
  await traffic.startWorkers('a')
  await Promise.all(ids.map((id) => postponed(traffic, id)))
  await loseWakeUps(traffic.service)
  await traffic.expectSent(ids)
  expect(traffic.callsOf(ids)).toHaveLength(2)
})

test('a campaign that is under way stops when the hours begin, and what waits for permits is postponed too', async (context) => {
  const traffic = await startTraffic(context)
  const channelId = await traffic.buildWebhook(delay(5, accepting), { rateCalls: 20, rateSeconds: 1 })
  const ids = await traffic.sendSome(channelId, 60)
  await traffic.startWorkers('a')
  await eventually('the first calls', async () => traffic.callsOf(ids).length >= 3)
  const begins = Date.now() + 2000
  await set(traffic, channelId, { quietHours: quiet(2000, hourMs) })
  const due = () =>
    traffic.service.runtime.db
      .select()
      .from(sends)
      .where(
        sql`${eq(sends.channelId, channelId)} and finished_at is null and next_attempt_at < now() + interval '1 minute'`,
      )
  await eventually('the rest to be postponed', async () => Date.now() > begins && (await due()).length === 0)
  // The clock of the hours has whole seconds.
  const late = traffic.callsOf(ids).filter(({ at }) => performance.timeOrigin + at > begins + 100)
  expect(late).toEqual([])
  expect(traffic.callsOf(ids).length).toBeLessThan(ids.length)
})

test('a retry that falls due in quiet hours waits for their end', async (context) => {
  const traffic = await startTraffic(context)
  const channelId = await traffic.buildWebhook(failingOnce())
  const id = await post(traffic, channelId)
  await traffic.startWorkers('a')
  await eventually('its first call', async () => traffic.callsOf([id]).length === 1)
  await set(traffic, channelId, { quietHours: forAnHour() })
  expect((await postponed(traffic, id))?.reason).toContain('quiet hours')
  expect(traffic.callsOf([id])).toHaveLength(1)
})

test('a send that falls back waits for the hours of its fallback', async (context) => {
  const traffic = await startTraffic(context, { RETRY_DELAYS_SECONDS: '0' })
  const fallbackChannelId = await traffic.buildWebhook(accepting, { quietHours: forAnHour() })
  const channelId = await traffic.buildWebhook(answer(503), { fallbackChannelId })
  const id = await post(traffic, channelId)
  await traffic.startWorkers('a')
  expect((await postponed(traffic, id))?.reason).toContain('quiet hours')
  expect(traffic.callsOf([id])).toHaveLength(2)
})

test('a replayed send waits for their end, and one that expires before it fails', async (context) => {
  const traffic = await startTraffic(context)
  const channelId = await traffic.buildWebhook(answer(400))
  const replayed = await post(traffic, channelId)
  await traffic.startWorkers('a')
  await traffic.allEnded([replayed])
  await set(traffic, channelId, { quietHours: forAnHour() })
  expect(await runCli(traffic.service, 'replay', replayed)).toMatchObject({ status: 0 })
  expect((await postponed(traffic, replayed))?.reason).toContain('quiet hours')
  const expiring = await post(traffic, channelId)
  await postponed(traffic, expiring)
  const { db } = traffic.service.runtime
  await db.update(sends).set({ expiresAt: sql`clock_timestamp()` }).where(eq(sends.requestId, expiring))
  const { status, reason } = await traffic.ended(expiring)
  expect({ status, reason }).toEqual({ status: 'failed', reason: 'expired' })
  expect(traffic.callsOf([replayed, expiring])).toHaveLength(1)
})
