import { expect, test } from 'vitest'
import type { Timeline, TimelineEvent } from '../../src/core/sends/timeline.ts'
import { accept, buildAccount, buildChannel, textBody } from '../support/builders.ts'
import { finishedTimeline, serviceOfFile } from '../support/service.ts'
import { expectSooner, timed } from '../support/standstill.ts'
import { startTraffic } from '../support/traffic.ts'
import { eventually } from '../support/wait.ts'
import { gate, neverAnswer } from '../support/webhook-receiver.ts'

const service = await serviceOfFile()
const account = await buildAccount(service)
await service.startWorker()

async function sendTo(contact: string, channelId = account.channelId): Promise<Timeline> {
  const requestId = await accept(service, { ...account, channelId }, textBody('Hello', contact))
  return await finishedTimeline(service, requestId, account.apiKey)
}

const names = (timeline: Timeline) => timeline.events.map(({ event }) => event)
const find = (timeline: Timeline, event: string) => timeline.events.filter((one) => one.event === event)
const ms = (event: TimelineEvent | undefined) => Date.parse(event?.at ?? '')

test('an accepted send ends sent, and its timeline has each step', async () => {
  const timeline = await sendTo('+4915112345678')
  expect(timeline).toMatchObject({ status: 'sent', attempts: 1, providerMessageId: expect.any(String) })
  expect(timeline.events).toMatchObject([
    { event: 'accepted' },
    { event: 'attempt_started', attempt: 1, worker: 'test-worker' },
    {
      event: 'attempt_finished',
      attempt: 1,
      outcome: 'sent',
      durationMs: expect.any(Number),
      providerStatus: 200,
      providerCode: null,
      providerMessageId: timeline.providerMessageId,
    },
    { event: 'sent' },
  ])
  expect(timeline.finishedAt).toBe(timeline.events.at(-1)?.at)
})

test('a refused send fails at once, with the reason', async () => {
  const timeline = await sendTo('+15550100103')
  expect(timeline).toMatchObject({ status: 'failed', attempts: 1, providerMessageId: null })
  expect(timeline.events.slice(2)).toMatchObject([
    { event: 'attempt_finished', outcome: 'rejected', providerStatus: 400, providerCode: 'rejected' },
    { event: 'failed', reason: expect.stringContaining('refuses') },
  ])
})

test.concurrent('a send that fails twice with a temporary error is retried and ends sent', async () => {
  const timeline = await sendTo('retry@example.com')
  expect(timeline).toMatchObject({ status: 'sent', attempts: 3 })
  expect(names(timeline)).toEqual([
    'accepted',
    ...['attempt_started', 'attempt_finished', 'retry_scheduled'],
    ...['attempt_started', 'attempt_finished', 'retry_scheduled'],
    ...['attempt_started', 'attempt_finished', 'sent'],
  ])
  expect(find(timeline, 'attempt_finished').map(({ attempt }) => attempt)).toEqual([1, 2, 3])
})

test.concurrent("a provider's Retry-After is waited for", async () => {
  const timeline = await timed(() => sendTo('+15550100104'))
  const [first, second] = find(timeline, 'attempt_started')
  const [scheduled] = find(timeline, 'retry_scheduled')
  expect(timeline).toMatchObject({ status: 'sent', attempts: 2 })
  expect(ms(second) - ms(first)).toBeGreaterThanOrEqual(2000)
  expect(ms(second)).toBeGreaterThanOrEqual(Date.parse(String(scheduled?.nextAttemptAt)))
  expectSooner({ ...timeline, tookMs: ms(second) - ms(first) }, 3000)
})

test.concurrent('if it is unknown whether the provider accepted it, the send ends uncertain and is not called again', async () => {
  const timeline = await sendTo('+15550100105')
  expect(timeline).toMatchObject({ status: 'uncertain', attempts: 1 })
  expect(timeline.events.at(-1)).toMatchObject({
    event: 'uncertain',
    reason: expect.stringContaining('connection'),
  })
})

test.concurrent('on a channel that resends, an uncertain call is made again until attempts run out, and the timeline shows that', async () => {
  const channelId = await buildChannel(service, account.accountId, 'resend')
  const timeline = await sendTo('+15550100105', channelId)
  expect(timeline).toMatchObject({ status: 'uncertain', attempts: 4 })
  expect(find(timeline, 'attempt_finished').map(({ outcome }) => outcome)).toEqual(Array(4).fill('uncertain'))
  expect(find(timeline, 'retry_scheduled')).toHaveLength(3)
})

test.concurrent('every event of the timeline is also a log line with the same requestId, and none holds content or the contact', async () => {
  const timeline = await sendTo('retry@example.com')
  const lines = service.logsOf(timeline.requestId)
  expect(lines.map(({ event }) => event)).toEqual(names(timeline))
  expect(JSON.stringify(lines)).not.toMatch(/Hello|retry@example/)
})

test('a slow provider delays no other channel', async (context) => {
  const traffic = await startTraffic(context, { PROVIDER_TIMEOUT_SECONDS: '25' })
  const slow = gate()
  await traffic.startWorkers('a')
  const held = await traffic.send(await traffic.buildWebhook(slow.behaviour))
  await eventually('its call', async () => slow.waiting === 1)
  await traffic.expectSent([await traffic.send(traffic.account.channelId)])
  expect(slow.waiting).toBe(1)
  slow.open()
  await traffic.expectSent([held])
})

test('a call that takes longer than PROVIDER_TIMEOUT_SECONDS is uncertain', async (context) => {
  const traffic = await startTraffic(context, { PROVIDER_TIMEOUT_SECONDS: '1' })
  await traffic.startWorkers('a')
  const requestId = await traffic.send(await traffic.buildWebhook(neverAnswer))
  expect(await traffic.ended(requestId)).toMatchObject({ status: 'uncertain', attempts: 1 })
})
