import { setTimeout as sleep } from 'node:timers/promises'
import { eq } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { recordReceipts } from '../../db/receipts/receipts.ts'
import { sends } from '../../db/schema.ts'
import { cancelSend } from '../../db/sends/cancel.ts'
import { replaySends } from '../../db/sends/replay-sets.ts'
import { replaySend } from '../../db/sends/replays.ts'
import type { AttemptOutcome } from '../../src/core/sends/outcome.ts'
import { openProviders } from '../../workers/providers/index.ts'
import type { Answer } from '../support/answer.ts'
import {
  attemptedSend,
  beginAttempt,
  endAttempt,
  loseAttempt,
  namesOf,
  received,
  rowOf,
  timelineOf,
} from '../support/attempts.ts'
import { accept, buildAccount, buildChannel, buildKey, textBody } from '../support/builders.ts'
import { runCli } from '../support/cli.ts'
import { deliverAs } from '../support/deliver-as.ts'
import { expectError } from '../support/expect-error.ts'
import { cancel, inSeconds, makeDue, moveDue, scheduledOf } from '../support/later.ts'
import { buildReceipt } from '../support/receipts.ts'
import { finishedTimeline, neverReconciled, serviceOfFile } from '../support/service.ts'

const service = await serviceOfFile({ RETRY_DELAYS_SECONDS: '3600,3600,3600' })
const account = await buildAccount(service)

/** Follows a wake-up of the send. @returns what the sandbox got. */
async function wakeUp(requestId: string) {
  const { senders, close } = openProviders(service.runtime)
  const deliver = await deliverAs(service, 'worker', senders)
  await deliver(requestId)
  await close()
  return await received(service, requestId)
}

const away: AttemptOutcome = { outcome: 'retry_later', fault: 'provider', reason: 'away' }
const unknown: AttemptOutcome = { outcome: 'uncertain', fault: 'provider', reason: 'no answer' }

test('a scheduled send is canceled, never sent, and 200 again when repeated', async () => {
  const requestId = await accept(service, account, { ...textBody(), sendAt: inSeconds(3600), reference: 'r' })
  const { status, body } = await cancel(service, account, requestId)
  expect([status, body]).toEqual([200, { requestId, status: 'canceled' }])
  const timeline = await timelineOf(service, requestId)
  expect(timeline).toMatchObject({ status: 'canceled', attempts: 0, reference: 'r' })
  expect(timeline.finishedAt).not.toBeNull()
  expect(namesOf(timeline)).toEqual(['accepted', 'scheduled', 'canceled'])
  expect((await scheduledOf(service, account)).map((row) => row.requestId)).not.toContain(requestId)
  expect(await wakeUp(requestId)).toEqual([])
  expect((await cancel(service, account, requestId, '{}')).body).toEqual({ requestId, status: 'canceled' })
  expect(service.logsOf(requestId).filter(({ event }) => event === 'canceled')).toHaveLength(1)
})

test('a queued send is canceled, and a wake-up that comes later sends nothing', async () => {
  const requestId = await accept(service, account, textBody())
  expect((await cancel(service, account, requestId)).body).toEqual({ requestId, status: 'canceled' })
  expect(await wakeUp(requestId)).toEqual([])
  expect(namesOf(await timelineOf(service, requestId))).toEqual(['accepted', 'canceled'])
})

test('a send that waits for a retry is canceled, if no attempt may have got through', async () => {
  const requestId = await attemptedSend(service, account, away)
  expect((await cancel(service, account, requestId)).body).toEqual({ requestId, status: 'canceled' })
  const timeline = await timelineOf(service, requestId)
  expect(namesOf(timeline)).toEqual([
    'accepted',
    'attempt_started',
    'attempt_finished',
    'retry_scheduled',
    'canceled',
  ])
})

test('a send that waits after an uncertain or a lost attempt becomes uncertain, and nothing more is sent', async () => {
  const by = { ...account, channelId: await buildChannel(service, account.accountId, 'resend') }
  const inDoubt = await attemptedSend(service, by, unknown)
  const lost = await accept(service, by, textBody())
  await service.runtime.queue.remove(lost)
  await loseAttempt(service, lost, 'gone')
  for (const requestId of [inDoubt, lost]) {
    expect((await cancel(service, account, requestId)).body).toEqual({ requestId, status: 'uncertain' })
    const timeline = await timelineOf(service, requestId)
    expect(timeline).toMatchObject({ status: 'uncertain', attempts: 1 })
    expect(namesOf(timeline).filter((name) => name === 'attempt_started')).toHaveLength(1)
    expect(timeline.events.at(-1)).toMatchObject({
      event: 'uncertain',
      reason: 'canceled after an attempt that may have got through',
    })
    await service.runtime.db
      .update(sends)
      .set({ nextAttemptAt: new Date(0) })
      .where(eq(sends.requestId, requestId))
    expect(await wakeUp(requestId)).toEqual([])
    expectError(await cancel(service, account, requestId), 409)
  }
})

test('the late outcome of a lost attempt settles a send that was canceled meanwhile, and its timeline has each event once', async () => {
  const by = { ...account, channelId: await buildChannel(service, account.accountId, 'resend') }
  const requestId = await accept(service, by, textBody())
  await service.runtime.queue.remove(requestId)
  const send = await loseAttempt(service, requestId, 'frozen')
  await cancel(service, account, requestId)
  await endAttempt(service, send, { outcome: 'sent', providerMessageId: 'm1' })
  const timeline = await timelineOf(service, requestId)
  expect(timeline).toMatchObject({ status: 'sent', providerMessageId: 'm1' })
  expect(namesOf(timeline)).toEqual([
    'accepted',
    'attempt_started',
    'attempt_lost',
    'retry_scheduled',
    'uncertain',
    'attempt_finished',
    'sent',
  ])
})

test('what is reported of a lost attempt settles a send that was canceled meanwhile, and its timeline has each event once', async () => {
  const by = { ...account, channelId: await buildChannel(service, account.accountId, 'resend') }
  const requestId = await accept(service, by, textBody())
  await service.runtime.queue.remove(requestId)
  await loseAttempt(service, requestId, 'dies')
  await cancel(service, account, requestId)
  await recordReceipts(service.runtime.db, [buildReceipt(requestId, by.channelId, 'delivered')])
  const timeline = await timelineOf(service, requestId)
  expect(timeline).toMatchObject({ status: 'sent', delivery: 'delivered' })
  expect(namesOf(timeline)).toEqual([
    'accepted',
    'attempt_started',
    'attempt_lost',
    'retry_scheduled',
    'uncertain',
    'sent',
    'delivered',
  ])
})

test('a canceled send is never replayed, alone or in a set, even if it failed by a late outcome', async () => {
  const by = { ...account, channelId: await buildChannel(service, account.accountId, 'resend') }
  const { db } = service.runtime
  const canceled = await attemptedSend(service, by, away)
  const inDoubt = await attemptedSend(service, by, unknown)
  const failed = await accept(service, by, textBody())
  await service.runtime.queue.remove(failed)
  const send = await loseAttempt(service, failed, 'late')
  for (const requestId of [canceled, inDoubt, failed]) await cancel(service, account, requestId)
  await endAttempt(service, send, { outcome: 'rejected', fault: 'message', reason: 'no' })
  expect(await timelineOf(service, failed)).toMatchObject({ status: 'failed' })
  for (const requestId of [canceled, inDoubt, failed]) {
    expect(await replaySend(db, requestId)).toBe(false)
    expect((await runCli(service, 'replay', requestId)).stderr).toContain('was canceled')
  }
  for (const status of ['uncertain', 'failed'] as const) {
    const set = { channelId: by.channelId, status, limit: 10, includeRefused: true, includeExpired: true }
    expect(await replaySends(db, set)).toMatchObject({ replayed: 0 })
  }
  const explained = await runCli(service, 'trace', failed)
  expect(JSON.stringify(explained)).toContain('canceled after an attempt that may have got through')
})

test('a cancel and a wake-up at the same moment: what got a 200 was never called, what got a 409 once', async () => {
  const ids = await Promise.all(Array.from({ length: 40 }, () => accept(service, account, textBody())))
  const { senders, close } = openProviders(service.runtime)
  const deliver = await deliverAs(service, 'racing', senders)
  const answers: [string, Answer][] = []
  for (const [index, id] of ids.entries()) {
    // At first the cancel comes 20 ms earlier, in the end 20 ms later.
    const [wakesAfterMs, cancelsAfterMs] = [Math.max(0, 20 - index), Math.max(0, index - 20)]
    const woken = sleep(wakesAfterMs).then(() => deliver(id))
    const canceled = sleep(cancelsAfterMs).then(() => cancel(service, account, id))
    const [answer] = await Promise.all([canceled, woken])
    answers.push([id, answer])
  }
  await close()
  for (const [id, { status, body }] of answers) {
    if (status === 200) expect(body.status).toBe('canceled')
    else expect(status).toBe(409)
    expect(await received(service, id)).toHaveLength(status === 200 ? 0 : 1)
  }
  expect(new Set(answers.map(([, { status }]) => status)).size).toBe(2)
})

test('a send that is being sent, or has ended, is a 409 and stays as it is', async () => {
  const sending = await accept(service, account, textBody())
  await beginAttempt(service, sending, 'busy')
  expectError(
    await cancel(service, account, sending),
    409,
    'The send is sending: only one that waits can be canceled.',
  )
  const states: [AttemptOutcome, string][] = [
    [{ outcome: 'sent', providerMessageId: 'm' }, 'sent'],
    [{ outcome: 'rejected', fault: 'message', reason: 'no' }, 'failed'],
    [unknown, 'uncertain'],
  ]
  for (const [outcome, state] of states) {
    const requestId = await attemptedSend(service, account, outcome)
    expectError(await cancel(service, account, requestId), 409)
    expect((await rowOf(service, requestId)).status).toBe(state)
  }
})

test('an absent send, one of another account, and an id of none are the same 404', async () => {
  const other = await buildAccount(service)
  const foreign = await accept(service, other, textBody())
  const foreignLater = await accept(service, other, { ...textBody(), sendAt: inSeconds(3600) })
  for (const id of [foreign, foreignLater, '01a1fde3-04b0-709e-bec0-b940cc7af3c0', 'x']) {
    expectError(await cancel(service, account, id), 404, 'Message not found')
  }
  expect((await rowOf(service, foreign)).status).toBe('queued')
  expect(await scheduledOf(service, other)).toHaveLength(1)
})

test('it needs the permission to send, and no content', async () => {
  const requestId = await accept(service, account, { ...textBody(), sendAt: inSeconds(3600) })
  const reader = await buildKey(service, account.accountId, { permissions: ['messages:read'] })
  expectError(await cancel(service, reader, requestId), 403)
  expectError(await cancel(service, { apiKey: 'omk_x' }, requestId), 401)
  for (const body of ['{"a":1}', '[]', 'null', `{${' '.repeat(100)}}`, 'x'])
    expectError(await cancel(service, account, requestId, body), 400, 'body: has to be absent, or {}')
  expect((await cancel(service, account, requestId, ' { } ')).status).toBe(200)
})

test("the contact's next send goes on when the one before it is canceled, woken by the API itself", async () => {
  const contact = '+4915100000001'
  const first = await attemptedSend(service, account, away, textBody('first', contact))
  const second = await accept(service, account, textBody('second', contact))
  const worker = await service.startWorker('w', { times: neverReconciled })
  await cancel(service, account, first)
  expect((await finishedTimeline(service, second, account.apiKey)).status).toBe('sent')
  await worker.stop()
})

test('a cancel and the move of a due send at the same moment end in one or the other, never in both', async () => {
  const ids = await Promise.all(
    Array.from({ length: 40 }, () => accept(service, account, { ...textBody(), sendAt: inSeconds(3600) })),
  )
  await Promise.all(ids.map((id) => makeDue(service, id)))
  const cancels = ids.map((id) => cancelSend(service.runtime.db, id, account.accountId))
  await Promise.all([...cancels, ...Array.from({ length: 20 }, () => moveDue(service))])
  for (const found of await Promise.all(cancels))
    expect(found).toMatchObject({ status: 'canceled', isNew: true })
  for (const id of ids) expect((await rowOf(service, id)).status).toBe('canceled')
})
