import { v7 as uuidv7 } from 'uuid'
import { expect, test } from 'vitest'
import { enterConversations } from '../../db/delivery/conversations.ts'
import { acceptBatch, insertBatch } from '../support/batches.ts'
import { type Account, accept, buildAccount, buildChannel, textBody } from '../support/builders.ts'
import { conversationsWith } from '../support/conversations.ts'
import { finishedTimeline, serviceOfFile } from '../support/service.ts'

let lastNumber = 0

const service = await serviceOfFile()
const account = await buildAccount(service)
await service.startWorker('one')
await service.startWorker('two')

const newContact = () => `+4915110${String(++lastNumber).padStart(5, '0')}`

async function send(contact: string, options: { close?: boolean; by?: Account } = {}) {
  const { close = false, by = account } = options
  const requestId = await accept(service, by, { ...textBody('Hi', contact), closeConversation: close })
  return await finishedTimeline(service, requestId, by.apiKey)
}

test('the first send to a contact opens a conversation, and later ones join it', async () => {
  const contact = newContact()
  const first = await send(contact)
  const second = await send(contact)
  expect(second.conversationId).toBe(first.conversationId)
  expect(await conversationsWith(service, account, contact)).toMatchObject([
    { conversationId: first.conversationId, closedAt: null, closedBy: null },
  ])
})

test('a contact has one conversation over all channels', async () => {
  const contact = newContact()
  const channelId = await buildChannel(service, account.accountId)
  const first = await send(contact)
  const second = await send(contact, { by: { ...account, channelId } })
  expect(second.conversationId).toBe(first.conversationId)
})

test('closeConversation closes the open one before the attempt, and the message opens another', async () => {
  const contact = newContact()
  const first = await send(contact)
  const closing = await send(contact, { close: true })
  expect(closing.events.map(({ event }) => event)).toEqual([
    'accepted',
    'conversation_closed',
    'attempt_started',
    'attempt_finished',
    'sent',
  ])
  expect(closing.events[1]).toMatchObject({ conversationId: first.conversationId })
  expect(await conversationsWith(service, account, contact)).toMatchObject([
    { conversationId: first.conversationId, closedBy: closing.requestId, closedAt: expect.any(Date) },
    { conversationId: closing.conversationId, closedAt: null },
  ])
})

test('closeConversation without an open one records null and opens one', async () => {
  const contact = newContact()
  const closing = await send(contact, { close: true })
  expect(closing.events[1]).toMatchObject({ event: 'conversation_closed', conversationId: null })
  expect(await conversationsWith(service, account, contact)).toMatchObject([
    { conversationId: closing.conversationId, closedAt: null },
  ])
})

test('a conversation is closed once, however many attempts the send takes', async () => {
  const retried = '+15550100102'
  const first = await send(retried)
  const closing = await send(retried, { close: true })
  expect(closing.attempts).toBe(3)
  expect(closing.events.filter(({ event }) => event === 'conversation_closed')).toMatchObject([
    { conversationId: first.conversationId },
  ])
  expect(await conversationsWith(service, account, retried)).toHaveLength(2)
})

/** Sends that no order keeps from being delivered at once. */
async function sendAtOnce(count: number, contact: string, closeConversation = false) {
  const { accountId, channelId, apiKey } = account
  const one = { accountId, channelId, contact: { type: 'phone', value: contact }, closeConversation } as const
  const ids = await acceptBatch(
    service,
    Array.from({ length: count }, () => ({ ...one, ordering: 'none' })),
  )
  return await Promise.all(ids.map((id) => finishedTimeline(service, id, apiKey)))
}

test('fifty sends at once to a new contact share one conversation', async () => {
  const contact = newContact()
  const timelines = await sendAtOnce(50, contact)
  expect(new Set(timelines.map(({ conversationId }) => conversationId)).size).toBe(1)
  expect(await conversationsWith(service, account, contact)).toHaveLength(1)
})

test('twenty closing sends at once leave one open, each closing exactly one', async () => {
  const contact = newContact()
  await send(contact)
  const timelines = await sendAtOnce(20, contact, true)
  const conversations = await conversationsWith(service, account, contact)
  const closed = timelines.map(({ events }) => events.find(({ event }) => event === 'conversation_closed'))
  expect(conversations).toHaveLength(21)
  expect(conversations.filter(({ closedAt }) => closedAt === null)).toHaveLength(1)
  expect(new Set(closed.map((event) => event?.conversationId)).size).toBe(20)
  expect(new Set(conversations.flatMap(({ closedBy }) => closedBy ?? [])).size).toBe(20)
})

test("closing sends of many batches to the same contacts at once do not stand in each other's way", {
  repeats: 3,
}, async () => {
  const { db } = service.runtime
  const contacts = Array.from({ length: 20 }, newContact)
  const idle = { accountId: account.accountId, channelId: await buildChannel(service, account.accountId) }
  const entryFor = (value: string) => {
    const contact = { type: 'phone', value } as const
    return { requestId: uuidv7(), claimId: uuidv7(), ...idle, contact, closeConversation: true }
  }
  const batches = Array.from({ length: 12 }, (_, index) =>
    (index % 2 ? contacts : contacts.toReversed()).map(entryFor),
  )
  await insertBatch(service, batches.flat())
  await Promise.all(batches.map((batch) => enterConversations(db, batch)))
  for (const contact of contacts) expect(await conversationsWith(service, account, contact)).toHaveLength(12)
})

test("an account's conversations are its own", async () => {
  const contact = newContact()
  const other = await buildAccount(service)
  const mine = await send(contact)
  const theirs = await send(contact, { by: other, close: true })
  expect(theirs.events[1]).toMatchObject({ conversationId: null })
  expect(await conversationsWith(service, account, contact)).toMatchObject([
    { conversationId: mine.conversationId, closedAt: null },
  ])
})
