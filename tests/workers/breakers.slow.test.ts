import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { openBreaker } from '../../db/delivery/breakers.ts'
import type { AttemptOutcome } from '../../src/core/sends/outcome.ts'
import { channelBreakers } from '../../workers/sends/wake-next/breaker.ts'
import { beginAttempt, endAttempt, lapse, rowOf, sweepOnce } from '../support/attempts.ts'
import { runCli } from '../support/cli.ts'
import { countOf } from '../support/queue.ts'
import { countedBy } from '../support/scrape.ts'
import { soonReconciled } from '../support/service.ts'
import { startTraffic, type Traffic } from '../support/traffic.ts'
import { eventually } from '../support/wait.ts'
import { accept as accepting, answer, type Behaviour, gate } from '../support/webhook-receiver.ts'

const failing = answer(503)

/** A webhook channel, and the say over how its receiver behaves. */
async function buildWebhook(traffic: Traffic, behaviour: Behaviour) {
  const at = { behaviour }
  const channelId = await traffic.buildWebhook((request, response) => at.behaviour(request, response))
  return { channelId, at }
}

/** A channel whose circuit breaker has opened. */
async function buildOpened(traffic: Traffic, behaviour: Behaviour) {
  const { channelId, at } = await buildWebhook(traffic, behaviour)
  const { db } = traffic.service.runtime
  const openSeconds = await openBreaker(db, { channelId, isAgain: false })
  // Until the test lets time pass, however slow the machine.
  await db.execute(sql`
    update channels set breaker_open_until = clock_timestamp() + interval '1 hour' where id = ${channelId}`)
  return { channelId, at, openSeconds }
}

/** Ends the time for which the breaker is open. */
const letTimePass = ({ service }: Traffic, channelId: string) =>
  service.runtime.db.execute(sql`
    update channels set breaker_open_until = clock_timestamp() where id = ${channelId}`)

/** Keeps the breaker open while the test looks at other things, however slow the machine is. */
const stayOpen = ({ service }: Traffic, channelId: string) =>
  service.runtime.db.execute(sql`
    update channels set breaker_open_until = clock_timestamp() + interval '1 hour' where id = ${channelId}`)

const becomeDue = ({ service }: Traffic, requestId: string, secondsAgo: number) =>
  service.runtime.db.execute(sql`
    update sends set next_attempt_at = clock_timestamp() - ${secondsAgo} * interval '1 s'
    where request_id = ${requestId}`)

async function openSeconds(traffic: Traffic, channelId: string): Promise<number | undefined> {
  const { breakerOpenUntil } = await traffic.channelRow(channelId)
  return breakerOpenUntil ? (Number(breakerOpenUntil) - Date.now()) / 1000 : undefined
}

const linesOf = ({ service }: Traffic, event: string) => service.logs.filter((line) => line.event === event)

const isClosed = (traffic: Traffic, channelId: string) =>
  eventually('the breaker closed', async () => (await openSeconds(traffic, channelId)) === undefined)

test.concurrent('a channel that keeps failing is no longer called by any worker, and its sends wait without attempts or slots', async (context) => {
  const traffic = await startTraffic(
    context,
    { RETRY_DELAYS_SECONDS: '1,1,1,1,1,1,1,1,1,1,1,1' },
    { times: { ...soonReconciled, failingForMs: 2000 } },
  )
  const { at, channelId } = await buildWebhook(traffic, failing)
  const other = await traffic.buildWebhook(accepting)
  await traffic.startWorkers('a')
  const failed = await traffic.sendSome(channelId, 2)
  const opened = await eventually('the breaker opened', async () => linesOf(traffic, 'breaker_opened')[0])
  expect(opened).toMatchObject({ level: 'warn', channelId, reason: expect.stringContaining('503') })
  expect(opened.openSeconds).toBeCloseTo(10, 0)
  expect(traffic.callsOf(failed).length).toBeGreaterThanOrEqual(5)
  expect(traffic.callsOf(failed).length).toBeLessThan(20)

  await stayOpen(traffic, channelId)
  await traffic.startWorkers('b')
  await eventually('no attempt under way', async () => {
    const rows = await Promise.all(failed.map((id) => rowOf(traffic.service, id)))
    return rows.every(({ status }) => status === 'queued')
  })
  // Not earlier: an attempt under way when the breaker opened would be accepted, and close it.
  at.behaviour = accepting
  const before = traffic.callsOf(failed).length
  const waiting = await traffic.sendSome(channelId, 10)
  await traffic.expectSent(await traffic.sendSome(other, 5))
  // Longer than the retries are apart.
  await sleep(1500)
  expect(traffic.callsOf(failed)).toHaveLength(before)
  expect(traffic.callsOf(waiting)).toEqual([])
  for (const id of waiting)
    expect(await rowOf(traffic.service, id)).toMatchObject({ status: 'queued', attempt: 0 })
  await eventually('no slot taken', async () => (await countOf(traffic.service, 'queue', 'active')) === 0)

  await letTimePass(traffic, channelId)
  await traffic.expectSent(waiting)
  for (const id of failed) expect(await traffic.ended(id)).toMatchObject({ status: 'sent' })
  expect(linesOf(traffic, 'breaker_closed')).toMatchObject([{ level: 'info', channelId }])
  expect(await traffic.channelRow(other)).toMatchObject({ breakerOpenUntil: null, breakerOpenings: 0 })
})

test.concurrent('once its time is over, workers let exactly one call through, and its success lets all sends go', async (context) => {
  const traffic = await startTraffic(context, {}, { times: soonReconciled })
  const probe = gate()
  const { channelId } = await buildOpened(traffic, probe.behaviour)
  await traffic.startWorkers('a', 'b', 'c')
  const ids = await traffic.sendSome(channelId, 10)
  await sleep(300)
  expect(traffic.callsOf(ids)).toEqual([])
  await letTimePass(traffic, channelId)
  await eventually('the probe', async () => probe.waiting > 0)
  await sleep(1000)
  expect(traffic.orderOf(ids)).toEqual(ids.slice(0, 1))
  probe.open()
  await traffic.expectSent(ids)
  await isClosed(traffic, channelId)
  expect(await traffic.channelRow(channelId)).toMatchObject({ breakerOpenings: 0 })
})

test.concurrent('each probe that fails doubles the time until the next one, up to five minutes', async (context) => {
  const traffic = await startTraffic(
    context,
    { RETRY_DELAYS_SECONDS: '0,0,0,0,0,0,0,3600' },
    { times: soonReconciled },
  )
  const { channelId, at, ...opened } = await buildOpened(traffic, failing)
  expect(opened.openSeconds).toBe(10)
  await traffic.startWorkers('a', 'b')
  const ids = await traffic.sendSome(channelId, 3)
  for (const [round, seconds] of [20, 40, 80, 160, 300, 300].entries()) {
    await letTimePass(traffic, channelId)
    await eventually('the end of the probe', async () => linesOf(traffic, 'breaker_opened').length > round)
    expect(linesOf(traffic, 'breaker_opened')[round]?.openSeconds).toBe(seconds)
    expect(traffic.callsOf(ids)).toHaveLength(round + 1)
  }
  expect((await openSeconds(traffic, channelId)) ?? 0).toBeGreaterThan(250)
  at.behaviour = accepting
  await letTimePass(traffic, channelId)
  for (const id of ids) expect(await traffic.ended(id)).toMatchObject({ status: 'sent' })
  await isClosed(traffic, channelId)
})

test.concurrent('when a probe fails, sends that have waited longer than all their retries would have taken fail, with the last answer', async (context) => {
  const traffic = await startTraffic(context, { RETRY_DELAYS_SECONDS: '0,3600' }, { times: soonReconciled })
  const { channelId } = await buildOpened(traffic, failing)
  const [probe = '', old = '', young = ''] = await traffic.sendSome(channelId, 3)
  await becomeDue(traffic, probe, 3700)
  await becomeDue(traffic, old, 3650)
  await traffic.service.runtime.db.execute(sql`
    update channels set breaker_opened_at = clock_timestamp() - interval '3650 s' where id = ${channelId}`)
  await traffic.startWorkers('a')
  await letTimePass(traffic, channelId)
  expect(await traffic.ended(old)).toMatchObject({ status: 'failed', attempts: 0 })
  const reason = expect.stringMatching(/kept failing.*503/)
  expect(traffic.service.logsOf(old).at(-1)).toMatchObject({ event: 'failed', reason })
  expect(traffic.callsOf([probe])).toHaveLength(1)
  for (const id of [probe, young])
    expect(await rowOf(traffic.service, id)).toMatchObject({ status: 'queued' })
})

test.concurrent('a short outage fails nothing that has waited long for other reasons', async (context) => {
  const traffic = await startTraffic(context, { RETRY_DELAYS_SECONDS: '0,60' }, { times: soonReconciled })
  const { channelId } = await buildOpened(traffic, failing)
  const [probe = '', old = ''] = await traffic.sendSome(channelId, 2)
  for (const id of [probe, old]) await becomeDue(traffic, id, 36_000)
  await traffic.startWorkers('a')
  await letTimePass(traffic, channelId)
  await eventually('the end of the probe', async () => linesOf(traffic, 'breaker_opened').length > 0)
  await sleep(500)
  for (const id of [probe, old]) expect(await rowOf(traffic.service, id)).toMatchObject({ status: 'queued' })
})

test.concurrent('a probe whose worker is lost is followed by another one', async (context) => {
  const traffic = await startTraffic(context, {}, { times: soonReconciled })
  const { channelId } = await buildOpened(traffic, accepting)
  const ids = await traffic.sendSome(channelId, 4)
  await letTimePass(traffic, channelId)
  const probe = await beginAttempt(traffic.service, ids[0] ?? '', 'dying')
  expect(probe.isProbe).toBe(true)
  // As long as a call and its record may take.
  expect((await openSeconds(traffic, channelId)) ?? 0).toBeGreaterThan(20)
  await traffic.startWorkers('a')
  await sleep(500)
  expect(traffic.callsOf(ids)).toEqual([])
  await lapse(traffic.service, 'dying')
  await sweepOnce(traffic.service)
  await letTimePass(traffic, channelId)
  await traffic.expectSent(ids.slice(1))
  await isClosed(traffic, channelId)
})

test.concurrent('the probe is a send that has not failed before, where there is one, though others fell due earlier', async (context) => {
  const traffic = await startTraffic(context, {}, { times: soonReconciled })
  const probe = gate()
  const { channelId } = await buildOpened(traffic, probe.behaviour)
  const [failedOnce = '', failedTwice = '', fresh = ''] = await traffic.sendSome(channelId, 3)
  await traffic.service.runtime.db.execute(sql`
    update sends set attempt = 2 where request_id in (${failedOnce}, ${failedTwice})`)
  await traffic.startWorkers('a')
  await letTimePass(traffic, channelId)
  await eventually('the probe', async () => probe.waiting > 0)
  expect(traffic.orderOf([failedOnce, failedTwice, fresh])).toEqual([fresh])
  probe.open()
  for (const id of [failedOnce, failedTwice, fresh])
    expect(await traffic.ended(id)).toMatchObject({ status: 'sent' })
})

test.concurrent('a probe that never reached the provider is followed by another at once', async (context) => {
  const traffic = await startTraffic(context, { PROVIDER_TIMEOUT_SECONDS: '25' }, { times: soonReconciled })
  const { channelId } = await buildOpened(traffic, accepting)
  const [first = '', second = ''] = await traffic.sendSome(channelId, 2)
  await letTimePass(traffic, channelId)
  const probe = await beginAttempt(traffic.service, first, 'a')
  expect(probe.isProbe).toBe(true)
  await endAttempt(traffic.service, probe, noMedia)
  await traffic.startWorkers('b')
  await traffic.expectSent([second])
  await isClosed(traffic, channelId)
})

test.concurrent('channel resume closes it, and all waiting sends go', async (context) => {
  const traffic = await startTraffic(context, {}, { times: soonReconciled })
  const { channelId } = await buildOpened(traffic, accepting)
  await traffic.startWorkers('a')
  const ids = await traffic.sendSome(channelId, 5)
  await sleep(300)
  expect(traffic.callsOf(ids)).toEqual([])
  expect(await runCli(traffic.service, 'channel', 'resume', channelId)).toMatchObject({ status: 0 })
  await traffic.expectSent(ids)
  expect(await traffic.channelRow(channelId)).toMatchObject({ breakerOpenUntil: null, breakerOpenings: 0 })
})

/** Whether a worker's circuit breaker is open after these outcomes of calls of this duration. */
async function opensAfter(traffic: Traffic, outcomes: AttemptOutcome[], durationMs = 6000) {
  const channelId = await traffic.buildWebhook(accepting)
  const [requestId = ''] = await traffic.sendSome(channelId, 1)
  const send = await beginAttempt(traffic.service, requestId, 'breaking')
  const breaker = channelBreakers(traffic.service.runtime)
  for (const outcome of outcomes) await breaker(send, { outcome, durationMs })
  return (await openSeconds(traffic, channelId)) !== undefined
}

const times = (count: number, outcome: AttemptOutcome) => Array.from({ length: count }, () => outcome)
const unavailable: AttemptOutcome = {
  outcome: 'retry_later',
  fault: 'provider',
  reason: 'x',
  providerStatus: 503,
}
const tooMany: AttemptOutcome = { outcome: 'retry_later', fault: 'sender', reason: 'x', providerStatus: 429 }
const noAnswer: AttemptOutcome = { outcome: 'uncertain', fault: 'provider', reason: 'x' }
const rejected: AttemptOutcome = { outcome: 'rejected', fault: 'recipient', reason: 'x', providerStatus: 400 }
const fullMailbox: AttemptOutcome = {
  outcome: 'retry_later',
  fault: 'recipient',
  reason: 'x',
  providerStatus: 452,
}
const noMedia: AttemptOutcome = { outcome: 'retry_later', fault: 'message', reason: 'x' }
const notCalled: AttemptOutcome = { outcome: 'not_called', reason: 'x' }
const sent: AttemptOutcome = { outcome: 'sent' }

test('five failures in a row over five seconds open it; outcomes that say nothing, or good, about the provider do not', async (context) => {
  const traffic = await startTraffic(context, {}, { times: soonReconciled })
  expect(await opensAfter(traffic, times(5, unavailable))).toBe(true)
  expect(await opensAfter(traffic, [...times(2, noAnswer), ...times(3, unavailable)])).toBe(true)
  expect(await opensAfter(traffic, times(4, unavailable))).toBe(false)
  expect(await opensAfter(traffic, times(50, unavailable), 100)).toBe(false)
  for (const good of [sent, rejected, tooMany, fullMailbox]) {
    expect(await opensAfter(traffic, times(20, good))).toBe(false)
    expect(await opensAfter(traffic, [...times(4, unavailable), good, ...times(4, unavailable)])).toBe(false)
  }
  for (const silent of [notCalled, noMedia]) {
    expect(await opensAfter(traffic, times(20, silent))).toBe(false)
    expect(await opensAfter(traffic, [...times(4, unavailable), silent, unavailable])).toBe(true)
  }
  expect(await countedBy(traffic.service.runtime.metrics.breakerOpenings)).toBe(4)
})
