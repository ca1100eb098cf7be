import { eq } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { beat } from '../../db/delivery/leases.ts'
import { findLostClaims, giveUpClaims } from '../../db/delivery/lost-claims.ts'
import { sends } from '../../db/schema.ts'
import type { Outcome } from '../../src/core/sends/outcome.ts'
import { startSweeps } from '../../workers/upkeep/sweeps.ts'
import {
  beginAttempt,
  buildSendRow,
  endAttempt,
  idleSweeper,
  lapse,
  loseAttempt,
  namesOf,
  received,
  rowOf,
  sweepOnce,
  timelineOf,
} from '../support/attempts.ts'
import { type Account, accept, buildAccount, buildChannel, textBody } from '../support/builders.ts'
import { deliverAs } from '../support/deliver-as.ts'
import { livingWorker } from '../support/living-worker.ts'
import { alikeProviders } from '../support/providers.ts'
import { wakeUpOf } from '../support/queue.ts'
import { finishedTimeline, serviceOfFile } from '../support/service.ts'
import { eventually } from '../support/wait.ts'

/** On a channel with `hold`. */
/** The same, with a channel that resends. */

const retries = 6

const service = await serviceOfFile({ RETRY_DELAYS_SECONDS: Array(retries).fill('0').join(',') })
const account = await buildAccount(service)
const channelId = await buildChannel(service, account.accountId, 'resend')
const resending = { ...account, channelId }

const acceptBy = (by: Account) => accept(service, by, textBody())
const busy: Outcome = { outcome: 'retry_later', fault: 'provider', reason: 'busy', providerStatus: 503 }

async function findLost(requestId: string) {
  const lost = await findLostClaims(service.runtime.db, idleSweeper, 1000)
  const claim = lost.find((one) => one.requestId === requestId)
  if (!claim) throw new Error('not lost')
  return claim
}

const given = (claim: { requestId: string; claimId: string; mayHaveCalled: boolean }) =>
  giveUpClaims(service.runtime.db, idleSweeper, [
    { ...claim, status: 'uncertain', reason: 'lost', delayMs: undefined },
  ])

test('on a channel that holds, a send whose worker died ends uncertain, with the reason, and is not sent again', async () => {
  const requestId = await acceptBy(account)
  await loseAttempt(service, requestId, 'dead-1')
  const timeline = await timelineOf(service, requestId)
  const reason = expect.stringContaining('dead-1')
  expect(timeline).toMatchObject({ status: 'uncertain', attempts: 1, providerMessageId: null })
  expect(timeline.events).toEqual([
    { at: timeline.acceptedAt, event: 'accepted' },
    { at: expect.any(String), event: 'attempt_started', attempt: 1, worker: 'dead-1' },
    { at: timeline.finishedAt, event: 'attempt_lost', attempt: 1, reason },
    { at: timeline.finishedAt, event: 'uncertain', reason },
  ])
  const providers = alikeProviders({ send: async () => ({ outcome: 'sent' }) })
  const deliver = await deliverAs(service, 'rescuer', providers)
  expect(await deliver(requestId)).toMatchObject({ wakeInMs: undefined })
  expect(await timelineOf(service, requestId)).toEqual(timeline)
})

test('on a channel that resends, it is queued again, woken, counted as an attempt and delivered by another worker, and the log agrees', async () => {
  const requestId = await acceptBy(resending)
  let answer = (_outcome: Outcome) => {}
  const hung = new Promise<Outcome>((resolve) => {
    answer = resolve
  })
  const providers = alikeProviders({ send: () => hung })
  const dying = (await deliverAs(service, 'dead-2', providers))(requestId)
  await eventually('the attempt', async () => (await rowOf(service, requestId)).conversationId !== null)
  await service.runtime.queue.remove(requestId)

  await lapse(service, 'dead-2')
  await sweepOnce(service)
  await eventually('its wake-up', async () => (await wakeUpOf(service, requestId)) !== undefined)
  const waiting = await timelineOf(service, requestId)
  expect(waiting).toMatchObject({ status: 'queued', attempts: 1, finishedAt: null })
  const events = [
    { event: 'accepted' },
    { event: 'attempt_started', attempt: 1, worker: 'dead-2' },
    { event: 'attempt_lost', attempt: 1, reason: expect.stringContaining('dead-2') },
    {
      event: 'retry_scheduled',
      reason: expect.stringContaining('dead-2'),
      nextAttemptAt: expect.any(String),
    },
  ]
  expect(waiting.events).toMatchObject(events)

  const { stop } = await service.startWorker('rescuer-2')
  const timeline = await finishedTimeline(service, requestId, account.apiKey)
  await stop()
  expect(timeline).toMatchObject({ status: 'sent', attempts: 2 })
  expect(timeline.events).toMatchObject([
    ...events,
    { event: 'attempt_started', attempt: 2, worker: 'rescuer-2' },
    { event: 'attempt_finished', attempt: 2, outcome: 'sent' },
    { event: 'sent' },
  ])
  expect(await received(service, requestId)).toHaveLength(1)
  expect(service.logsOf(requestId).map(({ event }) => event)).toEqual(namesOf(timeline))
  answer({ outcome: 'uncertain', fault: 'provider', reason: 'the end of the test' })
  await dying
})

test('on a channel that resends, a loss in the last attempt leaves the send uncertain, not failed', async () => {
  const requestId = await acceptBy(resending)
  for (let attempt = 1; attempt <= retries; attempt++) {
    await endAttempt(service, await beginAttempt(service, requestId, 'steady'), busy)
  }
  await loseAttempt(service, requestId, 'dead-3')
  const timeline = await timelineOf(service, requestId)
  expect(timeline).toMatchObject({ status: 'uncertain', attempts: retries + 1 })
  expect(namesOf(timeline).slice(-3)).toEqual(['attempt_started', 'attempt_lost', 'uncertain'])
})

test('a send whose worker was lost five times is given up as failed, refusals in between not counted, and other sends continue', async () => {
  const requestId = await acceptBy(resending)
  await loseAttempt(service, requestId, 'killed-1')
  await endAttempt(service, await beginAttempt(service, requestId, 'steady'), busy)
  for (const worker of ['killed-2', 'killed-3', 'killed-4']) {
    await loseAttempt(service, requestId, worker)
    expect((await rowOf(service, requestId)).status).toBe('queued')
  }
  const bystander = await acceptBy(resending)
  await beginAttempt(service, bystander, 'killed-5')
  await loseAttempt(service, requestId, 'killed-5')

  const timeline = await timelineOf(service, requestId)
  expect(timeline).toMatchObject({ status: 'failed', attempts: 6, finishedAt: expect.any(String) })
  expect(timeline.events.at(-1)).toMatchObject({
    event: 'failed',
    reason: 'given up: workers kept crashing on it',
  })
  expect(namesOf(timeline).filter((event) => event === 'attempt_lost')).toHaveLength(5)
  expect(await rowOf(service, bystander)).toMatchObject({ status: 'queued', losses: 1 })
  await endAttempt(service, await beginAttempt(service, bystander, 'steady'), { outcome: 'sent' })
  expect((await rowOf(service, bystander)).status).toBe('sent')
})

test('several sweepers at once give each claim up once', async () => {
  const ids = await Promise.all(
    Array.from({ length: 40 }, (_, i) => acceptBy(i % 2 === 0 ? account : resending)),
  )
  for (const requestId of ids) await beginAttempt(service, requestId, 'dead-4')
  await lapse(service, 'dead-4')
  await Promise.all(Array.from({ length: 6 }, () => sweepOnce(service)))
  for (const [i, requestId] of ids.entries()) {
    const timeline = await timelineOf(service, requestId)
    const end = i % 2 === 0 ? 'uncertain' : 'retry_scheduled'
    expect(namesOf(timeline)).toEqual(['accepted', 'attempt_started', 'attempt_lost', end])
    expect(service.logsOf(requestId).map(({ event }) => event)).toEqual(['accepted', 'attempt_lost', end])
    expect(await rowOf(service, requestId)).toMatchObject({ losses: 1, attempt: 1 })
  }
})

test('one sweep gives up all claims of a dead worker, however many', async () => {
  const { db } = service.runtime
  await livingWorker(service, 'dead-5')
  await lapse(service, 'dead-5')
  const claim = { status: 'sending', worker: 'dead-5', attempt: 1, claimedAt: new Date() } as const
  const rows = Array.from({ length: 1100 }, () =>
    buildSendRow(account, { ...claim, claimId: crypto.randomUUID(), conversationId: crypto.randomUUID() }),
  )
  await db.insert(sends).values(rows)
  await sweepOnce(service)
  expect(await findLostClaims(db, idleSweeper, 1)).toEqual([])
  expect((await rowOf(service, rows[1099]?.requestId ?? '')).status).toBe('uncertain')
})

test('a worker that comes back to life after a sweeper found its claim keeps it', async () => {
  const requestId = await acceptBy(account)
  const send = await beginAttempt(service, requestId, 'revived')
  await lapse(service, 'revived')
  const claim = await findLost(requestId)
  await beat(service.runtime.db, 'revived', 60_000)
  expect(await given(claim)).toEqual([])
  expect(await rowOf(service, requestId)).toMatchObject({ status: 'sending', losses: 0 })
  await endAttempt(service, send, { outcome: 'sent' })
  expect(namesOf(await timelineOf(service, requestId)).at(-1)).toBe('sent')
})

test('a sweeper that found a claim gives up neither its recorded outcome nor the claim that followed', async () => {
  const ended = await acceptBy(account)
  const endedSend = await beginAttempt(service, ended, 'dead-6')
  const followed = await acceptBy(resending)
  await beginAttempt(service, followed, 'dead-6')
  await lapse(service, 'dead-6')
  const [endedClaim, followedClaim] = [await findLost(ended), await findLost(followed)]

  await endAttempt(service, endedSend, { outcome: 'sent' })
  await sweepOnce(service)
  await beginAttempt(service, followed, 'dead-7')
  await lapse(service, 'dead-7')
  expect(await given(endedClaim)).toEqual([])
  expect(await given(followedClaim)).toEqual([])
  expect((await rowOf(service, ended)).status).toBe('sent')
  expect(await rowOf(service, followed)).toMatchObject({ status: 'sending', attempt: 2, losses: 1 })
  await sweepOnce(service)
  expect(await rowOf(service, followed)).toMatchObject({ status: 'queued', attempt: 2, losses: 2 })
})

test('a claim that its living worker has dropped is given up after a minute, and not while it is in flight', async () => {
  const { db } = service.runtime
  const requestId = await acceptBy(account)
  await beginAttempt(service, requestId, 'forgetful')
  const age = (ms: number) =>
    db
      .update(sends)
      .set({ claimedAt: new Date(Date.now() - ms) })
      .where(eq(sends.requestId, requestId))
  const sweepBy = async (worker: string, inFlight: string[]) =>
    await startSweeps(service.runtime, await livingWorker(service, worker), () => inFlight).stop()
  await age(50_000)
  await sweepBy('forgetful', [])
  await age(70_000)
  await sweepBy('forgetful', [requestId])
  await sweepBy('another', [])
  expect((await rowOf(service, requestId)).status).toBe('sending')
  await sweepBy('forgetful', [])
  expect((await rowOf(service, requestId)).status).toBe('uncertain')
})

test('a worker that finds its own lease expired does not give up its sends in flight', async () => {
  const requestId = await acceptBy(account)
  await beginAttempt(service, requestId, 'suspended')
  const heartbeat = await livingWorker(service, 'suspended')
  await lapse(service, 'suspended')
  await startSweeps(service.runtime, heartbeat, () => [requestId]).stop()
  expect((await rowOf(service, requestId)).status).toBe('sending')
})

test('a claim of a dead worker is given up although another worker handles its wake-up, whose claim is refused', async () => {
  const requestId = await acceptBy(account)
  await beginAttempt(service, requestId, 'dead-6')
  await lapse(service, 'dead-6')
  await startSweeps(service.runtime, await livingWorker(service, 'sweeper'), () => [requestId]).stop()
  expect((await rowOf(service, requestId)).status).toBe('uncertain')
})
