import { eq } from 'drizzle-orm'
import { v7 as uuidv7 } from 'uuid'
import { beforeEach, expect, test } from 'vitest'
import { holdChannel, updateChannel } from '../../db/accounts/channels.ts'
import { deleteChannel } from '../../db/accounts/deleted-channels.ts'
import { setTemplate } from '../../db/accounts/templates.ts'
import { sends } from '../../db/schema.ts'
import { cancelSend } from '../../db/sends/cancel.ts'
import { replaySend } from '../../db/sends/replays.ts'
import { addSuppression } from '../../db/suppression/entries.ts'
import type { AttemptOutcome } from '../../src/core/sends/outcome.ts'
import { createEndSends } from '../../src/sends/end-sends.ts'
import {
  attemptedSend,
  beginAttempt,
  endAttempt,
  loseAttempt,
  namesOf,
  rowOf,
  sweepOnce,
  timelineOf,
} from '../support/attempts.ts'
import { type Account, accept, buildWebhookChannel, post, textBody } from '../support/builders.ts'
import { buildChain, unreachable } from '../support/fallbacks.ts'
import { loseWakeUp } from '../support/queue.ts'
import { buildReceipt } from '../support/receipts.ts'
import { countsSince } from '../support/scrape.ts'
import { serviceOfFile, testSuppressionKey } from '../support/service.ts'

const service = await serviceOfFile({ RETRY_DELAYS_SECONDS: '0' })
const { db } = service.runtime
const sent: AttemptOutcome = { outcome: 'sent', providerMessageId: 'SM1', providerStatus: 201 }
const uncertain: AttemptOutcome = { outcome: 'uncertain', fault: 'provider', reason: 'connection lost' }
const later = (fault: 'provider' | 'recipient' | 'message' | 'sender'): AttemptOutcome => ({
  ...{ outcome: 'retry_later', fault, reason: `the ${fault}’s fault`, providerStatus: 503 },
})

const refusedChannel: AttemptOutcome = { outcome: 'channel_refused', fault: 'sender', reason: 'wrong key' }

/** Results of sends that ended on a channel with a fallback, by the providers of both. */
const fallbacksCounted = countsSince(service.runtime.metrics.fallbacks, 'from', 'to', 'result')
beforeEach(async () => {
  await fallbacksCounted()
})

const next = async (requestId: string, outcome: AttemptOutcome, worker = 'next') =>
  await endAttempt(service, await beginAttempt(service, requestId, worker), outcome)

test('a send that its provider refuses for its recipient goes on by the fallback: one row, one requestId, one conversation, and it is sent there', async () => {
  const { account, channels } = await buildChain(service)
  const requestId = await attemptedSend(service, account, unreachable)
  const { conversationId } = await rowOf(service, requestId)
  const waiting = await timelineOf(service, requestId)
  expect(waiting).toMatchObject({
    ...{ status: 'queued', channelId: channels[0], sentThrough: channels[1], attempts: 1 },
    ...{ finishedAt: null, reason: null, providerCode: null, providerMessageId: null },
  })
  expect(namesOf(waiting)).toEqual(['accepted', 'attempt_started', 'attempt_finished', 'fell_back'])
  expect(waiting.events.at(-1)).toMatchObject({
    ...{ fromChannelId: channels[0], toChannelId: channels[1] },
    reason: 'the contact is not on this network',
  })
  expect(await fallbacksCounted()).toEqual({ 'sandbox sandbox fell_back': 1 })
  const attempt = await beginAttempt(service, requestId, 'second')
  expect(attempt).toMatchObject({
    channelId: channels[1],
    attempt: 2,
    attemptsBeforeReplay: 1,
    conversationId,
  })
  await endAttempt(service, attempt, sent)
  expect(await timelineOf(service, requestId)).toMatchObject({
    ...{ status: 'sent', channelId: channels[0], sentThrough: channels[1], providerMessageId: 'SM1' },
  })
})

test.each(['provider', 'recipient', 'sender'] as const)(
  'the last attempt that fails by the fault of the %s goes on by the fallback, where its retries are counted anew',
  async (fault) => {
    const { account, channels } = await buildChain(service)
    const requestId = await attemptedSend(service, account, later(fault))
    expect(await timelineOf(service, requestId)).toMatchObject({ status: 'queued', sentThrough: null })
    await next(requestId, later(fault))
    expect(await timelineOf(service, requestId)).toMatchObject({ status: 'queued', sentThrough: channels[1] })
    await next(requestId, later(fault))
    expect(await timelineOf(service, requestId)).toMatchObject({ status: 'queued', sentThrough: channels[1] })
    await next(requestId, later(fault))
    const ended = await timelineOf(service, requestId)
    expect(ended).toMatchObject({ status: 'failed', sentThrough: channels[1], attempts: 4 })
    expect(ended.reason).toBe(`the ${fault}’s fault (the last attempt)`)
  },
)

test.each([
  ['a refusal by the fault of the message', [{ ...unreachable, fault: 'message' }]],
  ['a last attempt that failed by the fault of the message', [later('message'), later('message')]],
] as [string, AttemptOutcome[]][])(
  '%s ends it, with the reason as without a fallback',
  async (_what, outcomes) => {
    const { account } = await buildChain(service)
    const [first = sent, ...others] = outcomes
    const requestId = await attemptedSend(service, account, first)
    for (const outcome of others) await next(requestId, outcome)
    const ended = await timelineOf(service, requestId)
    expect(ended).toMatchObject({ status: 'failed', sentThrough: null })
    expect(ended.reason).not.toContain('fallback')
  },
)

test('a chain of three: each tries it once, and the last one’s failure is the end', async () => {
  const { account, channels } = await buildChain(service, 3)
  const requestId = await attemptedSend(service, account, unreachable)
  await next(requestId, unreachable)
  expect(await timelineOf(service, requestId)).toMatchObject({ sentThrough: channels[2], status: 'queued' })
  await next(requestId, unreachable)
  const ended = await timelineOf(service, requestId)
  expect(ended).toMatchObject({
    status: 'failed',
    channelId: channels[0],
    sentThrough: channels[2],
    attempts: 3,
  })
  expect(namesOf(ended).filter((name) => name === 'fell_back' || name === 'failed')).toEqual([
    ...['fell_back', 'fell_back', 'failed'],
  ])
})

test('uncertain never falls back, nor does a send that fails after an uncertain attempt', async () => {
  const { account, channels } = await buildChain(service)
  const held = await attemptedSend(service, account, uncertain)
  expect(await timelineOf(service, held)).toMatchObject({ status: 'uncertain', sentThrough: null })
  await updateChannel(db, channels[0] ?? '', { onUncertain: 'resend' })
  const resent = await attemptedSend(service, account, uncertain)
  await next(resent, unreachable)
  const ended = await timelineOf(service, resent)
  expect(ended).toMatchObject({ status: 'failed', sentThrough: null })
  expect(ended.reason).toBe(
    'the contact is not on this network; not sent by its fallback Test: an earlier attempt may have got through',
  )
  expect(await fallbacksCounted()).toEqual({ 'sandbox sandbox in_doubt': 1 })
})

test('a send that fails after a lost attempt stays', async () => {
  const { account, channels } = await buildChain(service)
  await updateChannel(db, channels[0] ?? '', { onUncertain: 'resend' })
  const resent = await accept(service, account, textBody())
  await loseWakeUp(service, resent)
  await loseAttempt(service, resent, 'lost too')
  await next(resent, unreachable)
  expect(await timelineOf(service, resent)).toMatchObject({ status: 'failed', sentThrough: null })
})

test('a refusal clears a lost attempt, however late it comes: when the next attempt fails, or is reported as undelivered, the send goes on', async () => {
  const { account, channels } = await buildChain(service)
  const [first = '', second] = channels
  await updateChannel(db, first, { onUncertain: 'resend' })
  const refusedLate = async () => {
    const requestId = await accept(service, account, textBody())
    await loseWakeUp(service, requestId)
    await endAttempt(service, await loseAttempt(service, requestId, 'frozen'), unreachable)
    return requestId
  }
  const failed = await refusedLate()
  await next(failed, unreachable)
  expect(await timelineOf(service, failed)).toMatchObject({ status: 'queued', sentThrough: second })
  const undelivered = await refusedLate()
  await next(undelivered, sent)
  const row = buildReceipt(undelivered, first, 'undelivered', { providerMessageId: 'SM1' })
  await createEndSends(service.runtime).recordReceipts([{ ...row, fallsBackFrom: 'sandbox' }])
  expect(await timelineOf(service, undelivered)).toMatchObject({ status: 'queued', sentThrough: second })
})

test('later than --fallback-within after its accept, and on causes that are not chosen, it stays', async () => {
  const { account, channels } = await buildChain(service)
  await updateChannel(db, channels[0] ?? '', { fallbackWithinSeconds: 60 })
  const old = await accept(service, account, textBody())
  await loseWakeUp(service, old)
  const attempt = await beginAttempt(service, old, 'late')
  await db
    .update(sends)
    .set({ acceptedAt: new Date(Date.now() - 61_000) })
    .where(eq(sends.requestId, old))
  await endAttempt(service, attempt, unreachable)
  expect(await timelineOf(service, old)).toMatchObject({
    ...{ status: 'failed', sentThrough: null },
    reason: `the contact is not on this network; not sent by its fallback Test: more than 60 s have passed since its accept`,
  })
  await updateChannel(db, channels[0] ?? '', { fallbackOn: ['undelivered'] })
  const other = await attemptedSend(service, account, unreachable)
  expect(await timelineOf(service, other)).toMatchObject({
    ...{ status: 'failed', reason: 'the contact is not on this network' },
  })
  expect(await fallbacksCounted()).toEqual({ 'sandbox sandbox too_late': 1 })
})

test('a fallback that was deleted ends it, a held one keeps it waiting', async () => {
  const { account, channels } = await buildChain(service)
  await holdChannel(db, channels[1] ?? '', 'held by an operator')
  const waiting = await attemptedSend(service, account, unreachable)
  expect(await timelineOf(service, waiting)).toMatchObject({ status: 'queued', sentThrough: channels[1] })
  await deleteChannel(db, channels[1] ?? '')
  expect(await timelineOf(service, waiting)).toMatchObject({
    ...{ status: 'failed', sentThrough: channels[1], reason: 'its channel was deleted' },
  })
  const ended = await attemptedSend(service, account, unreachable)
  expect((await timelineOf(service, ended)).reason).toBe(
    'the contact is not on this network; not sent by its fallback Test: that channel was deleted',
  )
  expect(await fallbacksCounted()).toEqual({ 'sandbox sandbox fell_back': 1, 'sandbox sandbox deleted': 1 })
})

test('a contact that was suppressed everywhere during the attempt gets nothing by the fallback', async () => {
  const { account } = await buildChain(service)
  const { accountId } = account
  const contact = { type: 'phone', value: '+4915155555555' } as const
  const requestId = await accept(service, account, textBody('Hello', contact.value))
  await loseWakeUp(service, requestId)
  const attempt = await beginAttempt(service, requestId, 'first')
  await addSuppression(db, { accountId, contact, channelId: null }, null, testSuppressionKey)
  await endAttempt(service, attempt, unreachable)
  expect(await timelineOf(service, requestId)).toMatchObject({ status: 'failed', sentThrough: null })
  expect(await fallbacksCounted()).toEqual({ 'sandbox sandbox suppressed': 1 })
})

test('where the chain was changed meanwhile, no send comes back to a channel that it was sent by', async () => {
  const { account, channels } = await buildChain(service, 1)
  const [first = ''] = channels
  const second = await buildWebhookChannel(service, account.accountId, 'https://example.com', 'hold')
  await updateChannel(db, first, { fallbackChannelId: second })
  const requestId = await attemptedSend(service, account, unreachable)
  await updateChannel(db, first, { fallbackChannelId: null })
  await updateChannel(db, second, { fallbackChannelId: first })
  await next(requestId, unreachable)
  expect(await timelineOf(service, requestId)).toMatchObject({
    ...{ status: 'failed', sentThrough: second },
    reason: `the contact is not on this network; not sent by its fallback Test: it was sent by that channel before`,
  })
  expect(await fallbacksCounted()).toEqual({ 'sandbox webhook fell_back': 1, 'webhook sandbox looped': 1 })
})

const acceptedSend = async (account: Account) => {
  const requestId = await accept(service, account, textBody())
  await loseWakeUp(service, requestId)
  return requestId
}

const expire = (requestId: string) =>
  db
    .update(sends)
    .set({ expiresAt: new Date(Date.now() - 1000) })
    .where(eq(sends.requestId, requestId))

test.each<[string, (account: Account) => Promise<string>]>([
  [
    'is held by an operator',
    async (account) => {
      await holdChannel(db, account.channelId, 'held by an operator')
      return await acceptedSend(account)
    },
  ],
  ['is held, since its provider refused it', (account) => attemptedSend(service, account, refusedChannel)],
])('a send whose channel %s waits, and doesn’t fall back', async (_what, make) => {
  const { account } = await buildChain(service)
  const requestId = await make(account)
  await sweepOnce(service)
  const timeline = await timelineOf(service, requestId)
  expect(timeline).toMatchObject({ status: 'queued', sentThrough: null })
  expect(namesOf(timeline)).not.toContain('fell_back')
  await expect(beginAttempt(service, requestId, 'next')).rejects.toThrow('could not claim')
})

test('nor does one go on to the next fallback, whose fallback is refused by its provider: it waits there', async () => {
  const { account, channels } = await buildChain(service, 3)
  const requestId = await attemptedSend(service, account, unreachable)
  await next(requestId, refusedChannel)
  await sweepOnce(service)
  expect(await timelineOf(service, requestId)).toMatchObject({ status: 'queued', sentThrough: channels[1] })
  await expect(beginAttempt(service, requestId, 'next')).rejects.toThrow('could not claim')
})

test.each<[string, string, (account: Account) => Promise<string>]>([
  [
    'has expired',
    'expired',
    async (account) => {
      const requestId = await acceptedSend(account)
      await expire(requestId)
      await sweepOnce(service)
      return requestId
    },
  ],
  [
    'is refused after it has expired',
    'the contact is not on this network; not sent by its fallback Test: it has expired',
    async (account) => {
      const requestId = await acceptedSend(account)
      const attempt = await beginAttempt(service, requestId, 'late')
      await expire(requestId)
      await endAttempt(service, attempt, unreachable)
      return requestId
    },
  ],
  [
    'waits while its channel is deleted',
    'its channel was deleted',
    async (account) => {
      const requestId = await acceptedSend(account)
      expect(await deleteChannel(db, account.channelId)).toEqual({ failed: 1 })
      return requestId
    },
  ],
])('a send that %s ends, and doesn’t fall back', async (_what, reason, make) => {
  const { account } = await buildChain(service)
  const timeline = await timelineOf(service, await make(account))
  expect(timeline).toMatchObject({ status: 'failed', sentThrough: null, reason })
  expect(namesOf(timeline)).not.toContain('fell_back')
})

test('an outcome that is recorded again, since its answer was lost, decides once', async () => {
  const { account, channels } = await buildChain(service)
  const staying = await accept(service, account, textBody())
  await deleteChannel(db, channels[1] ?? '')
  const attempt = await beginAttempt(service, staying, 'again')
  for (let time = 0; time < 2; time++) await endAttempt(service, attempt, unreachable)
  expect((await timelineOf(service, staying)).reason).toBe(
    'the contact is not on this network; not sent by its fallback Test: that channel was deleted',
  )
})

test('a template goes on as the one of the same name there; without one, or with other variables, it ends and the reason says so', async () => {
  const { account, channels } = await buildChain(service)
  const [first = '', second = ''] = channels
  const template = (name: string, key: string) => ({
    ...{ contact: textBody().contact },
    message: { type: 'template', template: { name, variables: [{ key, value: 'Ann' }] } },
  })
  await setTemplate(db, { channelId: first, name: 'hello', definition: { text: 'Hi {{name}}' } })
  await setTemplate(db, { channelId: second, name: 'hello', definition: { text: 'SMS: {{name}}' } })
  await setTemplate(db, { channelId: first, name: 'alone', definition: { text: '{{name}}' } })
  await setTemplate(db, { channelId: first, name: 'other', definition: { text: '{{name}}' } })
  await setTemplate(db, { channelId: second, name: 'other', definition: { text: '{{code}}' } })
  const hello = await attemptedSend(service, account, unreachable, template('hello', 'name'))
  expect((await beginAttempt(service, hello, 'second')).message).toMatchObject({
    template: { name: 'hello', definition: { text: 'SMS: {{name}}' } },
  })
  const reasonOf = async (name: string) => {
    const requestId = await attemptedSend(service, account, unreachable, template(name, 'name'))
    const { status, reason } = await timelineOf(service, requestId)
    return { status, reason }
  }
  const stays = 'the contact is not on this network; not sent by its fallback Test'
  expect(await reasonOf('alone')).toEqual({
    ...{ status: 'failed' },
    reason: `${stays}: message.template.name: no template of this name is registered with that channel`,
  })
  expect(await reasonOf('other')).toEqual({
    ...{ status: 'failed' },
    reason: `${stays}: message.template.variables: not those of the template there`,
  })
  expect(await fallbacksCounted()).toEqual({
    'sandbox sandbox fell_back': 1,
    'sandbox sandbox not_carried': 2,
  })
})

test('it comes at the end of its contact’s order there, and the next of its former order goes on', async () => {
  const { account, channels } = await buildChain(service)
  const [, second = ''] = channels
  const contact = '+4915199999999'
  const other = { ...account, channelId: second }
  const first = await accept(service, account, textBody('first', contact))
  const next = await accept(service, account, textBody('next', contact))
  for (const id of [first, next]) await loseWakeUp(service, id)
  const attempt = await beginAttempt(service, first, 'a')
  const there = await accept(service, other, textBody('there', contact))
  await loseWakeUp(service, there)
  await endAttempt(service, attempt, unreachable)
  const rows = await Promise.all([first, there].map((id) => rowOf(service, id)))
  expect(rows[0]?.lane).toBe(rows[1]?.lane)
  expect(rows[0]?.behind).toBe(there)
  await expect(beginAttempt(service, first, 'b')).rejects.toThrow('could not claim')
  expect((await beginAttempt(service, next, 'c')).channelId).toBe(account.channelId)
  await endAttempt(service, await beginAttempt(service, there, 'd'), sent)
  expect((await beginAttempt(service, first, 'e')).channelId).toBe(second)
})

test('its expiry on the fallback counts from its accept too; one that has expired stays', async () => {
  const { account, channels } = await buildChain(service)
  await updateChannel(db, channels[1] ?? '', { expireAfterSeconds: 600 })
  const requestId = await attemptedSend(service, account, unreachable)
  const { acceptedAt, expiresAt } = await rowOf(service, requestId)
  expect(expiresAt?.getTime()).toBe(acceptedAt.getTime() + 600_000)
  await updateChannel(db, channels[1] ?? '', { expireAfterSeconds: 5 })
  const old = await accept(service, account, textBody())
  await loseWakeUp(service, old)
  const attempt = await beginAttempt(service, old, 'late')
  await db
    .update(sends)
    .set({ acceptedAt: new Date(Date.now() - 6000) })
    .where(eq(sends.requestId, old))
  await endAttempt(service, attempt, unreachable)
  expect(await timelineOf(service, old)).toMatchObject({
    ...{ status: 'failed', sentThrough: null },
    reason: expect.stringContaining('it has expired'),
  })
  expect(await fallbacksCounted()).toEqual({ 'sandbox sandbox fell_back': 1, 'sandbox sandbox expired': 1 })
})

test('a repeat with its Idempotency-Key after it fell back answers with the same send', async () => {
  const { account, channels } = await buildChain(service)
  const [body, key] = [textBody(), { 'Idempotency-Key': uuidv7() }]
  const { requestId } = (await post(service, account, body, key)).body
  await loseWakeUp(service, requestId)
  await endAttempt(service, await beginAttempt(service, requestId, 'first'), unreachable)
  const again = await post(service, account, body, key)
  expect(again).toMatchObject({ status: 202, body: { requestId } })
  expect(again.headers.get('Idempotent-Replayed')).toBe('true')
  expect(await timelineOf(service, requestId)).toMatchObject({ status: 'queued', sentThrough: channels[1] })
  const { rowCount } = await db.$client.query('select from sends where account_id = $1', [account.accountId])
  expect(rowCount).toBe(1)
})

test('while it waits there it can be canceled; when it has failed there it is replayed there', async () => {
  const { account, channels } = await buildChain(service)
  const canceled = await attemptedSend(service, account, unreachable)
  expect(await cancelSend(db, canceled, account.accountId)).toMatchObject({ status: 'canceled' })
  const failed = await attemptedSend(service, account, unreachable)
  await next(failed, unreachable)
  expect(await replaySend(db, failed)).toBe(true)
  const attempt = await beginAttempt(service, failed, 'again')
  expect(attempt).toMatchObject({ channelId: channels[1], attempt: 3 })
  await endAttempt(service, attempt, sent)
  expect(await timelineOf(service, failed)).toMatchObject({ status: 'sent', sentThrough: channels[1] })
})
