import { expect, test } from 'vitest'
import { replaySend } from '../../db/sends/replays.ts'
import type { AttemptOutcome } from '../../src/core/sends/outcome.ts'
import { Readiness } from '../../src/platform/health/readiness.ts'
import { scrape } from '../../src/platform/health/scrape.ts'
import { createRedisBreaker } from '../../src/platform/redis/breaker.ts'
import { createPermits } from '../../workers/sends/claim/permits.ts'
import { startReconciler } from '../../workers/upkeep/reconcile.ts'
import { attemptedSend, beginAttempt, endAttempt, loseAttempt, sweepOnce } from '../support/attempts.ts'
import { accept, buildAccount, buildChannel, post, request, textBody } from '../support/builders.ts'
import { rawBytes } from '../support/raw-http.ts'
import { countedBy } from '../support/scrape.ts'
import { serviceOfFile, startTestService } from '../support/service.ts'
import { eventually } from '../support/wait.ts'

const service = await serviceOfFile({ RETRY_DELAYS_SECONDS: '60,60' })
const account = await buildAccount(service)
const metrics = service.runtime.metrics

type Count = () => Promise<number>

/** By how much the work raises each of them. */
async function gains(counts: Record<string, Count>, work: () => Promise<unknown>) {
  const read = async () =>
    Object.fromEntries(
      await Promise.all(Object.entries(counts).map(async ([name, count]) => [name, await count()])),
    )
  const before = await read()
  await work()
  const after = await read()
  return Object.fromEntries(Object.keys(counts).map((name) => [name, after[name] - before[name]]))
}

const route = '/v1/channels/:channelId/messages'
const answered =
  (status: number, at = route): Count =>
  () =>
    countedBy(metrics.requests, { route: at, status })

test('each answer is counted by its route as it is written and its status, and accepts by how long they took', async () => {
  const counts = {
    accepted: answered(202),
    refused: answered(400),
    unknown: answered(401),
    read: answered(200, '/v1/messages/:requestId'),
    lost: answered(404, 'none'),
    unreadable: answered(400, 'none'),
    timed: () => countedBy(metrics.acceptDuration, { route }, '_count'),
    sends: () => countedBy(metrics.accepted, { message_type: 'text' }),
    authFailures: () => countedBy(metrics.authFailures),
    statements: () => countedBy(metrics.acceptBatch, {}, '_count'),
  }
  const gained = await gains(counts, async () => {
    const requestId = await accept(service, account, textBody())
    await post(service, account, { contact: 1 })
    await post(service, { ...account, apiKey: 'omk_guessed' }, textBody())
    const headers = { Authorization: `Bearer ${account.apiKey}` }
    await request(service, `/v1/messages/${requestId}`, { headers })
    await request(service, '/v1/nothing-here')
    await rawBytes(service, 'This is no HTTP.\r\n\r\n')
  })
  expect(gained).toEqual({
    accepted: 1,
    refused: 1,
    unknown: 1,
    read: 1,
    lost: 1,
    unreadable: 1,
    timed: 1,
    sends: 1,
    authFailures: 1,
    statements: 1,
  })
})

test('media is counted in bytes as decoded, and a repeat by its Idempotency-Key as a replay, not as a send', async () => {
  const media = { mediaType: 'document', base64: Buffer.from('Some text.').toString('base64') }
  const body = { ...textBody(), message: { type: 'media', media } }
  const counts = {
    bytes: () => countedBy(metrics.acceptedMediaBytes),
    sends: () => countedBy(metrics.accepted, { message_type: 'media' }),
    replays: () => countedBy(metrics.idempotentReplays),
    accepts: answered(202),
  }
  const gained = await gains(counts, async () => {
    for (const _ of [1, 2]) {
      const answer = await post(service, account, body, { 'Idempotency-Key': 'metrics-1' })
      expect(answer).toMatchObject({ status: 202 })
    }
  })
  expect(gained).toEqual({ bytes: 10, sends: 1, replays: 1, accepts: 2 })
})

test('requests beyond a limit are counted by the kind of limit', async () => {
  const limited = await buildAccount(service, { rateLimit: { points: 1, seconds: 60 } })
  const guarded = await startTestService({ AUTH_FAILURE_LIMIT: '1' })
  const ofAddress = () => countedBy(guarded.runtime.metrics.rateLimited, { limit: 'address' })
  const counts = { account: () => countedBy(metrics.rateLimited, { limit: 'account' }), address: ofAddress }
  const gained = await gains(counts, async () => {
    for (const _ of [1, 2]) await post(service, limited, textBody())
    for (const _ of [1, 2]) await post(guarded, { ...account, apiKey: 'wrong' }, textBody())
  })
  await guarded.stop()
  expect(gained).toEqual({ account: 1, address: 1 })
})

test('without Redis each accept is an enqueue failure, and the breaker shows as open', async () => {
  // Has stores of its own: a send that it accepts waits without a wake-up, for others to find.
  const away = await startTestService({ REDIS_URL: 'redis://127.0.0.1:1' })
  const sender = await buildAccount(away)
  for (const _ of [1, 2]) await accept(away, sender, textBody())
  const { enqueueFailures, redisBreakerOpen } = away.runtime.metrics
  expect(await countedBy(enqueueFailures)).toBe(2)
  expect(await countedBy(redisBreakerOpen)).toBe(1)
  expect(await countedBy(metrics.redisBreakerOpen)).toBe(0)
  const { text } = await scrape(away.api, new Readiness(away.api))
  expect(text).toMatch(/^outbound_faults_total\{level="warn"\} [1-9]/m)
  expect(text).toMatch(/^outbound_faults_total\{level="error"\} 0$/m)
  await away.stop()
})

test('a breaker that opened shows as closed once a try has worked', async () => {
  const throughBreaker = createRedisBreaker({ name: '0', log: service.runtime.log, metrics }, 1000)
  for (const _ of [1, 2]) await throughBreaker(() => Promise.reject(new Error('gone'))).catch(() => {})
  expect(await countedBy(metrics.redisBreakerOpen)).toBe(1)
  await eventually('a try is let through', () => throughBreaker(async () => true).catch(() => false))
  expect(await countedBy(metrics.redisBreakerOpen)).toBe(0)
})

test('sends that a search finds without a wake-up are counted', async () => {
  const requestId = await accept(service, account, textBody())
  await service.runtime.queue.remove(requestId)
  await service.runtime.db.$client.query(
    `update sends set next_attempt_at = clock_timestamp() - interval '1 minute' where request_id = $1`,
    [requestId],
  )
  const search = () => startReconciler(service.runtime, createPermits(service.runtime)).stop()
  const counts = { reconciled: () => countedBy(metrics.reconciled) }
  expect(await gains(counts, search)).toEqual({ reconciled: 1 })
  expect(await gains(counts, search)).toEqual({ reconciled: 0 })
})

const ended = (status: string) => countedBy(metrics.ended, { status })
const delivery = {
  sent: () => ended('sent'),
  failed: () => ended('failed'),
  uncertain: () => ended('uncertain'),
  retries: () => countedBy(metrics.retries),
  timed: () => countedBy(metrics.acceptToSent, { provider: 'sandbox' }, '_count'),
  lostClaims: () => countedBy(metrics.lostClaims),
}
const nothing = { sent: 0, failed: 0, uncertain: 0, retries: 0, timed: 0, lostClaims: 0 }

test.each<[AttemptOutcome, object]>([
  [{ outcome: 'sent' }, { sent: 1, timed: 1 }],
  [{ outcome: 'rejected', fault: 'recipient', reason: 'no such number' }, { failed: 1 }],
  [{ outcome: 'retry_later', fault: 'provider', reason: 'busy' }, { retries: 1 }],
  [{ outcome: 'uncertain', fault: 'provider', reason: 'connection lost' }, { uncertain: 1 }],
])('an attempt that comes to $outcome counts as what becomes of its send', async (outcome, expected) => {
  expect(await gains(delivery, () => attemptedSend(service, account, outcome))).toEqual({
    ...nothing,
    ...expected,
  })
})

test('a channel that is held by its provider makes no retry of its send', async () => {
  const by = { ...account, channelId: await buildChannel(service, account.accountId) }
  const refused: AttemptOutcome = { outcome: 'channel_refused', fault: 'sender', reason: 'bad credentials' }
  expect(await gains(delivery, () => attemptedSend(service, by, refused))).toEqual(nothing)
})

test('a replayed send counts as ended again, but not in the time to sent', async () => {
  const requestId = await attemptedSend(service, account, {
    outcome: 'rejected',
    fault: 'recipient',
    reason: 'no such number',
  })
  await replaySend(service.runtime.db, requestId)
  const again = async () =>
    endAttempt(service, await beginAttempt(service, requestId, 'again'), { outcome: 'sent' })
  expect(await gains(delivery, again)).toEqual({ ...nothing, sent: 1 })
})

test('a lost claim counts, with what it makes of its send; a late outcome ends it once more', async () => {
  const resending = { ...account, channelId: await buildChannel(service, account.accountId, 'resend') }
  const [held, resent] = [
    await accept(service, account, textBody()),
    await accept(service, resending, textBody()),
  ]
  expect(await gains(delivery, () => loseAttempt(service, resent, 'dead-1'))).toEqual({
    ...nothing,
    lostClaims: 1,
    retries: 1,
  })
  const lost: Awaited<ReturnType<typeof loseAttempt>>[] = []
  const lose = async () => lost.push(await loseAttempt(service, held, 'dead-2'))
  expect(await gains(delivery, lose)).toEqual({ ...nothing, lostClaims: 1, uncertain: 1 })
  for (const send of lost) {
    const late = () => endAttempt(service, send, { outcome: 'sent' })
    expect(await gains(delivery, late)).toEqual({ ...nothing, sent: 1 })
  }
})

test('a send that expires counts as failed', async () => {
  const requestId = await accept(service, account, textBody())
  await service.runtime.db.$client.query(
    `update sends set expires_at = clock_timestamp() - interval '1 ms' where request_id = $1`,
    [requestId],
  )
  expect(await gains(delivery, () => sweepOnce(service))).toEqual({ ...nothing, failed: 1 })
})
