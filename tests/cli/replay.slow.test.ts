import { eq } from 'drizzle-orm'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { updateChannel } from '../../db/accounts/channels.ts'
import type { Database } from '../../db/connection/client.ts'
import { sends } from '../../db/schema.ts'
import { replaySend } from '../../db/sends/replays.ts'
import type { AttemptOutcome } from '../../src/core/sends/outcome.ts'
import type { Timeline } from '../../src/core/sends/timeline.ts'
import {
  attemptedSend,
  beginAttempt,
  endAttempt,
  loseAttempt,
  namesOf,
  received,
  rowOf,
  sweepOnce,
  timelineOf,
} from '../support/attempts.ts'
import {
  type Account,
  accept,
  buildAccount,
  buildChannel,
  buildWebhookChannel,
  textBody,
} from '../support/builders.ts'
import { runCli } from '../support/cli.ts'
import { soonReconciled, startTestService, type TestService } from '../support/service.ts'
import { waitingForLocks } from '../support/stores.ts'
import { eventually } from '../support/wait.ts'
import {
  accept as accepting,
  answer,
  type Behaviour,
  openWebhookReceiver,
  resetAfterReading,
  type WebhookReceiver,
} from '../support/webhook-receiver.ts'

let service: TestService
let account: Account
let receiver: WebhookReceiver

beforeAll(async () => {
  receiver = await openWebhookReceiver()
  service = await startTestService({
    ALLOWED_PRIVATE_NETWORKS: '127.0.0.0/8',
    CLIENT_PRIVATE_NETWORKS: '127.0.0.0/8',
    RETRY_DELAYS_SECONDS: '1000,2000',
  })
  account = await buildAccount(service)
})
afterAll(async () => {
  await service.stop()
  await receiver.stop()
})

const rejected: AttemptOutcome = { outcome: 'rejected', fault: 'recipient', reason: 'no such number' }
const unsure: AttemptOutcome = { outcome: 'uncertain', fault: 'provider', reason: 'connection lost' }
const busy: AttemptOutcome = { outcome: 'retry_later', fault: 'provider', reason: 'busy' }

const replay = (...args: string[]) => runCli(service, 'replay', ...args)

async function replayed(...args: string[]) {
  const { status, stdout, stderr } = await replay(...args)
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  expect(stdout.trim().split('\n')).toHaveLength(1)
  return JSON.parse(stdout)
}

const ended = (requestId: string) =>
  eventually('the end', async () => {
    const timeline = await timelineOf(service, requestId)
    return timeline.finishedAt !== null && timeline
  })

async function buildHook(behaviour: Behaviour) {
  const at = { behaviour }
  const url = receiver.at((incoming, response) => at.behaviour(incoming, response))
  const channelId = await buildWebhookChannel(service, account.accountId, url, 'hold')
  return { by: { ...account, channelId }, at }
}

describe('a replay', () => {
  test('of a failed and of an uncertain send calls the provider again, ends them sent, and keeps the earlier events', async () => {
    const worker = await service.startWorker('again', { times: soonReconciled })
    const refused = await buildHook(answer(400))
    const broken = await buildHook(resetAfterReading)
    const sendsOf = await Promise.all(
      [refused, broken].map(async ({ by, at }) => ({ requestId: await accept(service, by, textBody()), at })),
    )
    const timelines: Timeline[] = []
    for (const { requestId } of sendsOf) timelines.push(await ended(requestId))
    expect(timelines.map(({ status }) => status)).toEqual(['failed', 'uncertain'])
    for (const { requestId, at } of sendsOf) {
      at.behaviour = accepting
      expect(await replayed(requestId)).toEqual({ replayed: 1, requestId })
    }
    for (const [index, { requestId }] of sendsOf.entries()) {
      const timeline = await ended(requestId)
      expect(timeline).toMatchObject({ status: 'sent', attempts: 2, providerMessageId: 'received-1' })
      expect(timeline.events.slice(0, 4)).toEqual(timelines[index]?.events)
      expect(timeline.events.slice(4)).toMatchObject([
        { event: 'replayed', nextAttemptAt: expect.any(String) },
        { event: 'attempt_started', attempt: 2, worker: 'again' },
        { event: 'attempt_finished', attempt: 2, outcome: 'sent' },
        { event: 'sent' },
      ])
      expect(receiver.callsOf(requestId)).toHaveLength(2)
      expect(service.logsOf(requestId).filter(({ event }) => event === 'replayed')).toHaveLength(1)
    }
    await worker.stop()
  })

  test('restarts the retries: attempt numbers continue, delays start at the first, with as many attempts as before', async () => {
    const requestId = await accept(service, account, textBody())
    const fail = async () => {
      const { db } = service.runtime
      await db
        .update(sends)
        .set({ nextAttemptAt: new Date(0) })
        .where(eq(sends.requestId, requestId))
      await endAttempt(service, await beginAttempt(service, requestId, 'busy'), busy)
      const { nextAttemptAt, ...row } = await rowOf(service, requestId)
      return { ...row, delayS: ((nextAttemptAt?.getTime() ?? 0) - Date.now()) / 1000 }
    }
    const series = async () => [await fail(), await fail(), await fail()]
    const first = await series()
    expect(first.map(({ status }) => status)).toEqual(['queued', 'queued', 'failed'])
    expect(await replaySend(service.runtime.db, requestId)).toBe(true)
    const second = await series()
    expect(second.map(({ status }) => status)).toEqual(['queued', 'queued', 'failed'])
    expect(second.map(({ attempt }) => attempt)).toEqual([4, 5, 6])
    expect(second.map(({ expiresAt }) => expiresAt)).toEqual([null, null, null])
    for (const [one, two] of [first, second]) {
      expect(one?.delayS).toBeGreaterThan(790)
      expect(one?.delayS).toBeLessThan(1210)
      expect(two?.delayS).toBeGreaterThan(1590)
    }
    const { events } = await timelineOf(service, requestId)
    const begun = events.filter(({ event }) => event === 'attempt_started').map(({ attempt }) => attempt)
    expect(begun).toEqual([1, 2, 3, 4, 5, 6])
  })

  test('of a send whose worker was lost keeps that event, and restarts the count of losses', async () => {
    const requestId = await accept(service, account, textBody())
    await loseAttempt(service, requestId, 'dead')
    await service.runtime.db.update(sends).set({ losses: 4 }).where(eq(sends.requestId, requestId))
    const { events } = await timelineOf(service, requestId)
    await replaySend(service.runtime.db, requestId)
    expect(namesOf(await timelineOf(service, requestId))).toEqual([
      ...namesOf({ events } as Timeline),
      'replayed',
    ])
    expect((await timelineOf(service, requestId)).events.slice(0, -1)).toEqual(events)
    await loseAttempt(service, requestId, 'dead again')
    expect(await rowOf(service, requestId)).toMatchObject({ status: 'uncertain', losses: 1, attempt: 2 })
  })

  test('of a replayed send lists each series of attempts once', async () => {
    const requestId = await attemptedSend(service, account, rejected)
    await replaySend(service.runtime.db, requestId)
    await endAttempt(service, await beginAttempt(service, requestId, 'second'), unsure)
    await replaySend(service.runtime.db, requestId)
    const series = (end: string) => ['attempt_started', 'attempt_finished', end, 'replayed']
    expect(namesOf(await timelineOf(service, requestId))).toEqual([
      'accepted',
      ...series('failed'),
      ...series('uncertain'),
    ])
  })

  test('gives an expired send its full waiting time again', async () => {
    const channelId = await buildChannel(service, account.accountId)
    await updateChannel(service.runtime.db, channelId, { expireAfterSeconds: 60 })
    const requestId = await accept(service, { ...account, channelId }, textBody())
    await service.runtime.db
      .update(sends)
      .set({ expiresAt: new Date(0) })
      .where(eq(sends.requestId, requestId))
    await sweepOnce(service)
    expect(await rowOf(service, requestId)).toMatchObject({ status: 'failed', failure: 'expired' })
    await replaySend(service.runtime.db, requestId)
    const { nextAttemptAt, expiresAt } = await rowOf(service, requestId)
    expect((expiresAt?.getTime() ?? 0) - (nextAttemptAt?.getTime() ?? 0)).toBe(60_000)
    expect(Math.abs((nextAttemptAt?.getTime() ?? 0) - Date.now())).toBeLessThan(5000)
    expect(namesOf(await timelineOf(service, requestId))).toEqual(['accepted', 'failed', 'replayed'])
    await endAttempt(service, await beginAttempt(service, requestId, 'in time'), { outcome: 'sent' })
    expect(await timelineOf(service, requestId)).toMatchObject({ status: 'sent', attempts: 1 })
  })

  test('reaches the provider also where sends expire after two seconds', async () => {
    const channelId = await buildChannel(service, account.accountId)
    const requestId = await attemptedSend(service, { ...account, channelId }, rejected)
    await updateChannel(service.runtime.db, channelId, { expireAfterSeconds: 2 })
    const worker = await service.startWorker('quick')
    await replaySend(service.runtime.db, requestId)
    const { status } = await ended(requestId)
    await worker.stop()
    expect(status).toBe('sent')
  })

  test('of media gives the provider its bytes again', async () => {
    const content = Buffer.from('%PDF-1.4 a document')
    const mediaBody = { mediaType: 'document', base64: content.toString('base64'), filename: 'a.pdf' }
    const requestId = await attemptedSend(service, account, rejected, {
      ...textBody(),
      message: { type: 'media', media: mediaBody },
    })
    const worker = await service.startWorker('media')
    await replaySend(service.runtime.db, requestId)
    expect((await ended(requestId)).status).toBe('sent')
    await worker.stop()
    expect(await received(service, requestId)).toMatchObject([{ mediaContent: content }])
  })

  test('requested many times at once replays once', async () => {
    const requestId = await attemptedSend(service, account, rejected)
    const { db } = service.runtime
    const results = await Promise.all(Array.from({ length: 10 }, () => replaySend(db, requestId)))
    expect(results.filter(Boolean)).toHaveLength(1)
    expect(
      namesOf(await timelineOf(service, requestId)).filter((event) => event === 'replayed'),
    ).toHaveLength(1)
  })

  test('during another replay says that the send has not ended', async () => {
    const requestId = await attemptedSend(service, account, rejected)
    const { db } = service.runtime
    const client = await db.$client.connect()
    try {
      await client.query('begin')
      expect(await replaySend({ $client: client } as unknown as Database, requestId)).toBe(true)
      let isOver = false
      const second = replay(requestId).finally(() => {
        isOver = true
      })
      await eventually(
        'the other replay',
        async () => isOver || (await db.$client.query(waitingForLocks)).rowCount === 1,
      )
      await client.query('commit')
      expect(await second).toMatchObject({ status: 4, stderr: expect.stringContaining('has not ended yet') })
    } finally {
      client.release()
    }
  })
})
