import { eq } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { holdChannel, listChannels, resumeChannel } from '../../db/accounts/channels.ts'
import { findBusyChannels } from '../../db/delivery/due-sends.ts'
import { findRefusals } from '../../db/delivery/refusals.ts'
import { sends } from '../../db/schema.ts'
import type { Timeline } from '../../src/core/sends/timeline.ts'
import { openProviders } from '../../workers/providers/index.ts'
import {
  type Account,
  accept,
  buildAccount,
  buildWebhookChannel,
  request,
  textBody,
} from '../support/builders.ts'
import { runCli } from '../support/cli.ts'
import { deliverAs } from '../support/deliver-as.ts'
import { wake, wakeUpOf } from '../support/queue.ts'
import {
  finishedTimeline,
  soonReconciled,
  startTestService,
  type TestService,
  testSuppressionKey,
} from '../support/service.ts'
import { eventually } from '../support/wait.ts'
import {
  accept as accepting,
  answer,
  type Behaviour,
  delay,
  gate,
  openWebhookReceiver,
  type WebhookReceiver,
} from '../support/webhook-receiver.ts'

let service: TestService
let account: Account
let receiver: WebhookReceiver

const gone = answer(410)

beforeAll(async () => {
  receiver = await openWebhookReceiver()
  service = await startTestService({ ALLOWED_PRIVATE_NETWORKS: '127.0.0.0/8' })
  account = await buildAccount(service)
  await service.startWorker('test-worker', { times: soonReconciled })
})
afterAll(async () => {
  await service.stop()
  await receiver.stop()
})

/** A webhook channel, and the say over how its receiver behaves. */
async function buildWebhook(behaviour: Behaviour) {
  const at = { behaviour }
  const url = receiver.at((incoming, response) => at.behaviour(incoming, response))
  return { channelId: await buildWebhookChannel(service, account.accountId, url, 'resend'), at }
}

const sendBy = (channelId: string, body: object = textBody()) =>
  accept(service, { ...account, channelId }, body)

async function timelineOf(requestId: string): Promise<Timeline> {
  const headers = { Authorization: `Bearer ${account.apiKey}` }
  return (await request(service, `/v1/messages/${requestId}`, { headers })).body
}

async function channelOf(channelId: string) {
  const channels = await listChannels(service.runtime.db, account.accountId)
  return channels.find((channel) => channel.channelId === channelId)
}

const held = (channelId: string) =>
  eventually('the channel held', async () => (await channelOf(channelId))?.heldAt ?? undefined)

/** Until the queue has no wake-up of the send: neither waiting, nor delayed, nor active. */
const wakeUpEnded = (requestId: string) =>
  eventually('the end of its wake-up', async () => !(await wakeUpOf(service, requestId)))

const names = ({ events }: Timeline) => events.map(({ event }) => event)
const attemptsBegun = ({ events }: Timeline) =>
  events.filter(({ event }) => event === 'attempt_started').map(({ attempt }) => attempt)

async function sendIntoHold(channelId: string) {
  const requestId = await sendBy(channelId)
  await held(channelId)
  await wakeUpEnded(requestId)
  return requestId
}

test('a receiver that is gone holds its channel, with the reason, and the attempt does not count', async () => {
  const { channelId } = await buildWebhook(gone)
  const requestId = await sendIntoHold(channelId)
  const timeline = await timelineOf(requestId)
  expect(timeline).toMatchObject({ status: 'queued', attempts: 0, finishedAt: null })
  expect(timeline.events).toMatchObject([
    { event: 'accepted' },
    { event: 'attempt_started', attempt: 1, worker: 'test-worker' },
    {
      event: 'attempt_finished',
      attempt: 1,
      outcome: 'channel_refused',
      durationMs: expect.any(Number),
      providerStatus: 410,
    },
    { event: 'channel_held', reason: expect.stringContaining('410') },
  ])
  expect(await channelOf(channelId)).toMatchObject({
    heldAt: expect.any(Date),
    heldReason: timeline.events[3]?.reason,
  })
  expect(receiver.callsOf(requestId)).toHaveLength(1)
})

test('each event of the hold is one log line, without content or contact', async () => {
  const { channelId } = await buildWebhook(gone)
  const requestId = await sendIntoHold(channelId)
  const lines = service.logsOf(requestId)
  expect(lines.map(({ event }) => event)).toEqual(names(await timelineOf(requestId)))
  expect(lines.at(-1)).toMatchObject({ event: 'channel_held', channelId, reason: expect.any(String) })
  expect(JSON.stringify(lines)).not.toMatch(/Hello|15112345678|whsec/)
})

test('further sends of a held channel are accepted and wait, without an attempt and without a call', async () => {
  const { channelId } = await buildWebhook(gone)
  await sendIntoHold(channelId)
  const waiting = await Promise.all(Array.from({ length: 5 }, () => sendBy(channelId)))
  for (const requestId of waiting) {
    await wakeUpEnded(requestId)
    const timeline = await timelineOf(requestId)
    expect(timeline).toMatchObject({ status: 'queued', attempts: 0 })
    expect(names(timeline)).toEqual(['accepted'])
    expect(receiver.callsOf(requestId)).toEqual([])
  }
})

test('the wake-up of a send on a held channel ends, and nothing wakes it again before the channel is resumed', async () => {
  const { db } = service.runtime
  const { channelId } = await buildWebhook(gone)
  const first = await sendIntoHold(channelId)
  const waiting = await sendBy(channelId)
  await wakeUpEnded(waiting)
  const { senders, close } = openProviders(service.runtime)
  const deliver = await deliverAs(service, 'another', senders)
  const isBusy = async () =>
    (await findBusyChannels(db, { overdueByMs: 0, unusedForMs: 10_000 })).some(
      (one) => one.channelId === channelId,
    )
  for (const requestId of [first, waiting]) {
    expect((await deliver(requestId)).wakeInMs).toBeUndefined()
    expect(await findRefusals(db, [requestId], testSuppressionKey)).toMatchObject([{ dueInMs: null }])
  }
  expect(await isBusy()).toBe(false)
  await wake(service, [first, waiting])
  for (const requestId of [first, waiting]) await wakeUpEnded(requestId)
  await resumeChannel(db, channelId)
  expect(await findRefusals(db, [first], testSuppressionKey)).toMatchObject([{ dueInMs: 0 }])
  expect(await isBusy()).toBe(true)
  await holdChannel(db, channelId, 'over')
  await close()
})

test('other channels keep sending: of the account, to the same contact, by the same provider', async () => {
  const { channelId } = await buildWebhook(gone)
  await sendIntoHold(channelId)
  const { channelId: good } = await buildWebhook(accepting)
  for (const other of [account.channelId, good]) {
    const timeline = await finishedTimeline(service, await sendBy(other), account.apiKey)
    expect(timeline).toMatchObject({ status: 'sent', attempts: 1 })
    expect((await channelOf(other))?.heldAt).toBeNull()
  }
})

test('after resume all waiting sends are sent, each once', async () => {
  const { channelId, at } = await buildWebhook(gone)
  const first = await sendIntoHold(channelId)
  const waiting = await Promise.all(
    Array.from({ length: 20 }, (_, i) => sendBy(channelId, textBody(`n ${i}`))),
  )
  for (const requestId of waiting) await wakeUpEnded(requestId)
  at.behaviour = accepting
  expect(await resumeChannel(service.runtime.db, channelId)).toBe(true)
  for (const requestId of [first, ...waiting]) {
    const timeline = await finishedTimeline(service, requestId, account.apiKey)
    expect(timeline).toMatchObject({ status: 'sent', attempts: 1, providerMessageId: 'received-1' })
    expect(receiver.callsOf(requestId)).toHaveLength(requestId === first ? 2 : 1)
  }
  expect(names(await timelineOf(first))).toEqual([
    'accepted',
    ...['attempt_started', 'attempt_finished', 'channel_held'],
    ...['attempt_started', 'attempt_finished', 'sent'],
  ])
  expect(await channelOf(channelId)).toMatchObject({ heldAt: null, heldReason: null })
})

test('sends that are refused together hold the channel once, and are all sent after resume', async () => {
  const { channelId, at } = await buildWebhook(delay(100, gone))
  const requestIds = await Promise.all(Array.from({ length: 20 }, () => sendBy(channelId)))
  const heldAt = await held(channelId)
  for (const requestId of requestIds) await wakeUpEnded(requestId)
  expect((await channelOf(channelId))?.heldAt).toEqual(heldAt)
  for (const requestId of requestIds) {
    expect(await timelineOf(requestId)).toMatchObject({ status: 'queued', attempts: 0 })
  }
  at.behaviour = accepting
  const refused = requestIds.map((requestId) => receiver.callsOf(requestId).length)
  await resumeChannel(service.runtime.db, channelId)
  for (const [index, requestId] of requestIds.entries()) {
    const timeline = await finishedTimeline(service, requestId, account.apiKey)
    expect(timeline).toMatchObject({ status: 'sent', attempts: 1 })
    expect(receiver.callsOf(requestId)).toHaveLength((refused[index] ?? 0) + 1)
  }
})

test('a hold uses up none of the attempts of a send, however often the channel is refused', async () => {
  const { channelId, at } = await buildWebhook(answer(503))
  const states = [answer(503), gone, gone, gone, gone, gone, accepting]
  at.behaviour = (incoming, response) => states.shift()?.(incoming, response)
  const requestId = await sendBy(channelId)
  for (let round = 0; round < 5; round++) {
    await held(channelId)
    await wakeUpEnded(requestId)
    expect(await timelineOf(requestId)).toMatchObject({ status: 'queued', attempts: 1 })
    await resumeChannel(service.runtime.db, channelId)
    await wake(service, [requestId])
  }
  const timeline = await finishedTimeline(service, requestId, account.apiKey)
  expect(timeline).toMatchObject({ status: 'sent', attempts: 2 })
  expect(attemptsBegun(timeline)).toEqual([1, 2, 2, 2, 2, 2, 2])
})

test('a call under way when its channel is held still counts: its outcome is recorded', async () => {
  const call = gate()
  const { channelId } = await buildWebhook(call.behaviour)
  const requestId = await sendBy(channelId)
  await eventually('the call', async () => call.waiting === 1)
  await holdChannel(service.runtime.db, channelId, 'in between')
  call.open()
  const timeline = await finishedTimeline(service, requestId, account.apiKey)
  expect(timeline).toMatchObject({ status: 'sent', attempts: 1 })
  expect(receiver.callsOf(requestId)).toHaveLength(1)
})

test('a refusal keeps the reason of a channel that is held already, and a further hold replaces it', async () => {
  const call = gate(gone)
  const { channelId } = await buildWebhook(call.behaviour)
  const requestId = await sendBy(channelId)
  await eventually('the call', async () => call.waiting === 1)
  await holdChannel(service.runtime.db, channelId, 'held before')
  call.open()
  await eventually('the refusal', async () => names(await timelineOf(requestId)).includes('attempt_finished'))
  expect((await channelOf(channelId))?.heldReason).toBe('held before')
  await holdChannel(service.runtime.db, channelId, 'held after')
  expect((await channelOf(channelId))?.heldReason).toBe('held after')
})

test('channel hold makes the sends of a channel wait, and channel resume lets them go', async () => {
  const { channelId } = await buildWebhook(accepting)
  expect(await cli('channel', 'hold', channelId)).toEqual({ channelId })
  const { channels } = await cli('channel', 'list', '--account', account.accountId)
  expect(channels.find((channel: { channelId: string }) => channel.channelId === channelId)).toMatchObject({
    heldAt: expect.any(String),
    heldReason: 'held by an operator',
  })
  const requestId = await sendBy(channelId)
  await wakeUpEnded(requestId)
  expect(names(await timelineOf(requestId))).toEqual(['accepted'])
  expect(receiver.callsOf(requestId)).toEqual([])

  expect(await cli('channel', 'resume', channelId)).toEqual({ channelId })
  const timeline = await finishedTimeline(service, requestId, account.apiKey)
  expect(timeline).toMatchObject({ status: 'sent', attempts: 1 })
  expect(receiver.callsOf(requestId)).toHaveLength(1)
  expect(await channelOf(channelId)).toMatchObject({ heldAt: null, heldReason: null })
})

test.each(['hold', 'resume'])('channel %s of no channel says where to find them', async (what) => {
  for (const id of ['01890000-0000-7000-8000-000000000000', 'x']) {
    const failure = await runCli(service, 'channel', what, id)
    expect(failure).toMatchObject({ status: 3, stdout: '', stderr: expect.stringContaining('channel list') })
    expect(failure.stderr.trim().split('\n')).toHaveLength(1)
  }
})

test('no send of this file was lost: each is sent, or waits for a held channel', async () => {
  const { db } = service.runtime
  const unfinished = await db.select().from(sends).where(eq(sends.status, 'sending'))
  expect(unfinished).toEqual([])
  for (const { channelId } of await db.select().from(sends).where(eq(sends.status, 'queued'))) {
    expect((await channelOf(channelId))?.heldAt, channelId).toBeInstanceOf(Date)
  }
})

async function cli(...args: string[]) {
  const { stdout, stderr } = await runCli(service, ...args)
  expect(stderr).toBe('')
  return JSON.parse(stdout)
}
