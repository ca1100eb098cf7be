import { afterAll, beforeAll, expect, test } from 'vitest'
import { resumeChannel } from '../../db/accounts/channels.ts'
import {
  type Account,
  accept,
  buildAccount,
  buildWebhookChannel,
  newContact,
  textBody,
} from '../support/builders.ts'
import { conversationsWith } from '../support/conversations.ts'
import { finishedTimeline, soonReconciled, startTestService, type TestService } from '../support/service.ts'
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
  service = await startTestService({ ALLOWED_PRIVATE_NETWORKS: '127.0.0.0/8' })
  account = await buildAccount(service)
  await service.startWorker('one', { times: soonReconciled })
  await service.startWorker('two', { times: soonReconciled })
})
afterAll(async () => {
  await service.stop()
  await receiver.stop()
})

type Conversations = Awaited<ReturnType<typeof conversationsWith>>

/** A webhook channel whose receiver reads the conversations at every call, before its behaviour. */
async function buildWatcher(contact: string, behaviours: Behaviour[]) {
  const seen: Conversations[] = []
  const url = receiver.at(async (incoming, response) => {
    seen.push(await conversationsWith(service, account, contact))
    await (behaviours[seen.length - 1] ?? accepting)(incoming, response)
  })
  return { channelId: await buildWebhookChannel(service, account.accountId, url, 'resend'), seen }
}

/** The conversation that a plain send to the contact opened. */
async function openConversation(contact: string): Promise<string | null> {
  const requestId = await accept(service, account, textBody('Hi', contact))
  return (await finishedTimeline(service, requestId, account.apiKey)).conversationId
}

const sendClosing = (contact: string, channelId: string) =>
  accept(service, { ...account, channelId }, { ...textBody('Bye', contact), closeConversation: true })

const conversationsPosted = (requestId: string) =>
  receiver.callsOf(requestId).map(({ body }) => JSON.parse(body).conversationId as string)

const closings = (events: { event: string }[]) =>
  events.filter(({ event }) => event === 'conversation_closed')

test.each([
  ['the first attempt succeeds', [accepting]],
  ['the first two attempts fail', [answer(503), answer(503), accepting]],
  ['the result of the first attempt is unknown', [resetAfterReading, accepting]],
])(
  'the open conversation is closed, once, before the receiver sees the message: %s',
  async (_when, behaviours) => {
    const contact = newContact()
    const old = await openConversation(contact)
    const { channelId, seen } = await buildWatcher(contact, behaviours)
    const requestId = await sendClosing(contact, channelId)
    const timeline = await finishedTimeline(service, requestId, account.apiKey)
    expect(timeline).toMatchObject({ status: 'sent', attempts: behaviours.length })
    expect(timeline.conversationId).not.toBe(old)

    const both = [
      { conversationId: old, closedAt: expect.any(Date), closedBy: requestId, openedAt: expect.any(Date) },
      {
        conversationId: timeline.conversationId,
        closedAt: null,
        closedBy: null,
        openedAt: expect.any(Date),
      },
    ]
    expect(seen).toEqual(behaviours.map(() => both))
    expect(await conversationsWith(service, account, contact)).toEqual(seen[0])
    expect(conversationsPosted(requestId)).toEqual(behaviours.map(() => timeline.conversationId))
    expect(closings(timeline.events)).toMatchObject([{ conversationId: old }])
    expect(timeline.events.slice(0, 3).map(({ event }) => event)).toEqual([
      'accepted',
      'conversation_closed',
      'attempt_started',
    ])
  },
)

test('if none was open, the receiver sees the one that the message opened', async () => {
  const contact = newContact()
  const { channelId, seen } = await buildWatcher(contact, [answer(503), accepting])
  const requestId = await sendClosing(contact, channelId)
  const timeline = await finishedTimeline(service, requestId, account.apiKey)
  const { conversationId } = timeline
  expect(seen).toMatchObject([[{ conversationId, closedAt: null }], [{ conversationId, closedAt: null }]])
  expect(closings(timeline.events)).toMatchObject([{ conversationId: null }])
  expect(conversationsPosted(requestId)).toEqual([conversationId, conversationId])
})

test('without closeConversation the message stays in the open one, on every attempt', async () => {
  const contact = newContact()
  const old = await openConversation(contact)
  const { channelId, seen } = await buildWatcher(contact, [answer(503), answer(503), accepting])
  const requestId = await accept(service, { ...account, channelId }, textBody('Hi', contact))
  const timeline = await finishedTimeline(service, requestId, account.apiKey)
  expect(timeline).toMatchObject({ attempts: 3, conversationId: old })
  expect(seen).toMatchObject(Array(3).fill([{ conversationId: old, closedAt: null }]))
  expect(conversationsPosted(requestId)).toEqual([old, old, old])
  expect(closings(timeline.events)).toEqual([])
})

test('a send whose channel was held in between closes no conversation again after the channel is resumed', async () => {
  const contact = newContact()
  const old = await openConversation(contact)
  const { channelId } = await buildWatcher(contact, [answer(410), accepting])
  const requestId = await sendClosing(contact, channelId)
  await eventually('the refusal', async () =>
    service.logsOf(requestId).some(({ event }) => event === 'channel_held'),
  )
  await resumeChannel(service.runtime.db, channelId)
  const timeline = await finishedTimeline(service, requestId, account.apiKey)
  expect(closings(timeline.events)).toMatchObject([{ conversationId: old }])
  expect(conversationsPosted(requestId)).toEqual([timeline.conversationId, timeline.conversationId])
  expect(await conversationsWith(service, account, contact)).toMatchObject([
    { conversationId: old, closedBy: requestId },
    { conversationId: timeline.conversationId, closedAt: null },
  ])
})

test('a failed send has closed the conversation, too, once', async () => {
  const contact = newContact()
  const old = await openConversation(contact)
  const { channelId, seen } = await buildWatcher(contact, Array(4).fill(answer(503)))
  const requestId = await sendClosing(contact, channelId)
  const timeline = await finishedTimeline(service, requestId, account.apiKey)
  expect(timeline).toMatchObject({ status: 'failed', attempts: 4 })
  expect(seen.map((conversations) => conversations.length)).toEqual([2, 2, 2, 2])
  expect(closings(timeline.events)).toMatchObject([{ conversationId: old }])
})
