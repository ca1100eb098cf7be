import { eq, sql } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { updateChannel } from '../../db/accounts/channels.ts'
import { sends } from '../../db/schema.ts'
import { replaySends } from '../../db/sends/replay-sets.ts'
import { replaySend } from '../../db/sends/replays.ts'
import type { AttemptOutcome } from '../../src/core/sends/outcome.ts'
import { createDispatch } from '../../workers/sends/dispatch.ts'
import { beginAttempt, endAttempt, namesOf, rowOf, sweepOnce, timelineOf } from '../support/attempts.ts'
import { accept, buildAccount, buildChannel, post, textBody } from '../support/builders.ts'
import { runCli } from '../support/cli.ts'
import { expectError } from '../support/expect-error.ts'
import { inSeconds, makeDue, moveDue, postBatch } from '../support/later.ts'
import { livingWorker } from '../support/living-worker.ts'
import { alikeProviders } from '../support/providers.ts'
import { serviceOfFile } from '../support/service.ts'
import { expectAccepted, expectReplay, newKey, postKeyed } from './keyed.ts'

const service = await serviceOfFile()
const { db } = service.runtime
const account = await buildAccount(service)
const of = (expiresInSeconds: unknown) => post(service, account, { ...textBody(), expiresInSeconds })

/** For how long after its accept, or its `sendAt`, it may be called. */
async function expiresAfter(requestId: string): Promise<number | undefined> {
  const { acceptedAt, sendAt, expiresAt } = await rowOf(service, requestId)
  const from = sendAt && acceptedAt && sendAt > acceptedAt ? sendAt : acceptedAt
  return expiresAt && from ? Math.round((expiresAt.getTime() - from.getTime()) / 1000) : undefined
}

test.each([1, 604_800])('expiresInSeconds may be %d', async (seconds) => {
  const answer = await of(seconds)
  expect(await expiresAfter(expectAccepted(answer))).toBe(seconds)
  expect((await timelineOf(service, answer.body.requestId)).expiresInSeconds).toBe(seconds)
})

test.each([
  [0, 'expiresInSeconds: at least 1'],
  [604_801, 'expiresInSeconds: at most 604800'],
  [1.5, 'expiresInSeconds: has to be a whole number'],
  ['60', /^expiresInSeconds: /],
])('expiresInSeconds %j is a 400 that names it', async (seconds, message) => {
  expectError(await of(seconds), 400, message)
})

test.each([
  [60, 30, 30],
  [30, 60, 30],
  [null, 60, 60],
  [60, undefined, 60],
])(
  'of a channel’s expiry of %j s and a send’s own of %j s, the shorter one holds',
  async (ofChannel, own, holds) => {
    const channelId = await buildChannel(service, account.accountId)
    await updateChannel(db, channelId, { expireAfterSeconds: ofChannel })
    const by = { ...account, channelId }
    const body = () => ({ ...textBody(), ...(own !== undefined && { expiresInSeconds: own }) })
    const batch = await postBatch(service, by, [{ channelId, ...body() }])
    const later = await accept(service, by, { ...body(), sendAt: inSeconds(3600) })
    await makeDue(service, later)
    await moveDue(service)
    for (const requestId of [await accept(service, by, body()), batch.body.messages[0].requestId])
      expect(await expiresAfter(requestId)).toBe(holds)
    expect(await expiresAfter(later)).toBeLessThanOrEqual(holds)
  },
)

test('a scheduled send’s own expiry counts from its sendAt, however late it is moved', async () => {
  const requestId = await accept(service, account, {
    ...textBody(),
    sendAt: inSeconds(3600),
    expiresInSeconds: 60,
  })
  await makeDue(service, requestId)
  await moveDue(service)
  const { sendAt, expiresAt } = await rowOf(service, requestId)
  expect(Math.abs((expiresAt?.getTime() ?? 0) - (sendAt?.getTime() ?? 0) - 60_000)).toBeLessThan(50)
})

test('a send whose own expiry passes between its claim and its call is not called, and fails as expired', async () => {
  const requestId = await accept(service, account, { ...textBody(), expiresInSeconds: 60 })
  const send = await beginAttempt(service, requestId, 'a')
  expect(send.expiresAt - performance.now()).toBeGreaterThan(50_000)
  expect(send.expiresAt - performance.now()).toBeLessThan(60_000)
  let calls = 0
  const sent = async (): Promise<AttemptOutcome> => {
    calls++
    return { outcome: 'sent' }
  }
  const dispatch = createDispatch(
    service.runtime,
    alikeProviders({ send: sent }),
    await livingWorker(service, 'a'),
  )
  const { outcome } = await dispatch({ ...send, expiresAt: performance.now() })
  expect([outcome.outcome, calls]).toEqual(['not_called', 0])
  await expire(requestId)
  await endAttempt(service, send, outcome)
  await sweepOnce(service)
  const timeline = await timelineOf(service, requestId)
  expect(timeline).toMatchObject({ status: 'failed', attempts: 0, reason: 'expired' })
  expect(namesOf(timeline).at(-1)).toBe('failed')
})

/** Lets its own time pass. */
async function expire(requestId: string): Promise<void> {
  const earlier = sql`accepted_at - interval '1 hour'`
  const past = sql`clock_timestamp() - interval '1 ms'`
  await db.update(sends).set({ acceptedAt: earlier, expiresAt: past }).where(eq(sends.requestId, requestId))
}

const refused = { outcome: 'rejected', fault: 'recipient', reason: 'no' } as const

test('a replay doesn’t extend a send’s own expiry', async () => {
  const requestId = await accept(service, account, { ...textBody(), expiresInSeconds: 3600 })
  await endAttempt(service, await beginAttempt(service, requestId, 'a'), refused)
  expect(await replaySend(db, requestId)).toBe(true)
  expect(await expiresAfter(requestId)).toBe(3600)
})

test('a send past its own expiry is not replayed: not alone, and not in a set that includes expired ones', async () => {
  const channelId = await buildChannel(service, account.accountId)
  const by = { ...account, channelId }
  const requestId = await accept(service, by, { ...textBody(), expiresInSeconds: 60 })
  await endAttempt(service, await beginAttempt(service, requestId, 'a'), refused)
  await expire(requestId)
  expect(await replaySend(db, requestId)).toBe(false)
  const { stderr } = await runCli(service, 'replay', requestId)
  expect(stderr).toContain('expiresInSeconds')
  const set = { channelId, status: 'failed', limit: 10, includeExpired: true, includeRefused: true } as const
  expect(await replaySends(db, set)).toMatchObject({ replayed: 0, skipped: { expired: 1, gone: 0 } })
  expect((await rowOf(service, requestId)).status).toBe('failed')
})

test('another expiry is another request', async () => {
  const key = newKey()
  const body = { ...textBody(), expiresInSeconds: 60 }
  const requestId = expectAccepted(await postKeyed(service, account, key, body))
  expectReplay(await postKeyed(service, account, key, body), requestId)
  expectError(await postKeyed(service, account, key, { ...body, expiresInSeconds: 61 }), 422)
})
