import { eq } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { awaitReceipts, noteReceipts } from '../../db/receipts/awaited-receipts.ts'
import { channels } from '../../db/schema.ts'
import { readBacklog } from '../../db/sends/backlog.ts'
import { buildAccount } from '../support/builders.ts'
import { buildProviderChannel } from '../support/provider-channel.ts'
import { whatsAppConfig } from '../support/receipts.ts'
import { serviceOfFile } from '../support/service.ts'

const service = await serviceOfFile()
const owner = await buildAccount(service)

const buildChannel = (config: object = whatsAppConfig) =>
  buildProviderChannel(service, owner.accountId, 'whatsapp-cloud', config)
const minutesAgo = (minutes: number) => new Date(Date.now() - minutes * 60_000)
const sent = (channelId: string, at: Date) => awaitReceipts(service.runtime.db, [{ channelId, at }])
const received = (channelId: string, at: Date) => noteReceipts(service.runtime.db, [{ channelId, at }])

async function stateOf(channelId: string) {
  const { db } = service.runtime
  const [row] = await db.select().from(channels).where(eq(channels.id, channelId))
  return { awaitsSince: row?.awaitsReceiptSince, receiptAt: row?.receiptAt }
}

/** As the alert sees it. */
async function withoutReceipts(): Promise<number | undefined> {
  const { channels: found } = await readBacklog(service.runtime.db)
  return found.find(({ provider }) => provider === 'whatsapp-cloud')?.withoutReceipts
}

test('a channel that sends, and gets no receipt for an hour, is counted until one comes', async () => {
  const channelId = await buildChannel()
  await sent(channelId, minutesAgo(61))
  await sent(channelId, minutesAgo(5))
  expect(await stateOf(channelId)).toEqual({ awaitsSince: expect.any(Date), receiptAt: null })
  expect(await withoutReceipts()).toBe(1)
  await received(channelId, minutesAgo(1))
  expect(await stateOf(channelId)).toEqual({ awaitsSince: null, receiptAt: expect.any(Date) })
  expect(await withoutReceipts()).toBe(0)
})

test('processes write in any order: what was sent before the last receipt awaits none', async () => {
  const channelId = await buildChannel()
  const last = minutesAgo(10)
  await received(channelId, last)
  await received(channelId, minutesAgo(20))
  await sent(channelId, minutesAgo(15))
  expect(await stateOf(channelId)).toEqual({ awaitsSince: null, receiptAt: last })
  const later = minutesAgo(5)
  await sent(channelId, later)
  await received(channelId, minutesAgo(7))
  expect((await stateOf(channelId)).awaitsSince).toEqual(later)
})

test('a channel without receipts awaits none', async () => {
  const channelId = await buildChannel({ phoneNumberId: '1', accessToken: 'token' })
  await sent(channelId, minutesAgo(61))
  expect((await stateOf(channelId)).awaitsSince).toBeNull()
})

test('many processes that write of the same channels at the same time do not deadlock', async () => {
  const ids = await Promise.all(Array.from({ length: 20 }, () => buildChannel()))
  const at = new Date()
  const forward = ids.map((channelId) => ({ channelId, at }))
  const backward = forward.toReversed()
  const { db } = service.runtime
  await Promise.all(
    Array.from({ length: 20 }, () => [awaitReceipts(db, forward), noteReceipts(db, backward)]).flat(),
  )
})
