import { setTimeout as sleep } from 'node:timers/promises'
import { eq } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { channels } from '../../db/schema.ts'
import { openSmtpEmulator } from '../../src/providers/smtp/dev/emulator.ts'
import { accept, buildAccount } from '../support/builders.ts'
import { buildProviderChannel } from '../support/provider-channel.ts'
import { finishedTimeline, startTestService } from '../support/service.ts'
import { eventually } from '../support/wait.ts'
import { answer, neverAnswer, openWebhookReceiver } from '../support/webhook-receiver.ts'

const failingForMs = 1000

const text = { type: 'text', text: { value: 'Hello' } }
const unavailable = (mediaUrl: string) => ({ type: 'media', media: { mediaType: 'document', mediaUrl } })

test('a new channel sends its mails first, though many before them have media that hang', async (context) => {
  const emulator = await openSmtpEmulator()
  const media = await openWebhookReceiver()
  const service = await startTestService({
    ALLOWED_PRIVATE_NETWORKS: '127.0.0.0/8',
    CLIENT_PRIVATE_NETWORKS: '127.0.0.0/8',
  })
  context.onTestFinished(async () => {
    await service.stop()
    await emulator.stop()
    await media.stop()
  })
  const { accountId, apiKey } = await buildAccount(service)
  const channelId = await buildProviderChannel(service, accountId, 'smtp', emulator.config)
  await service.runtime.db.update(channels).set({ answeredAt: null }).where(eq(channels.id, channelId))
  const post = (value: string, message: object) =>
    accept(service, { apiKey, channelId }, { contact: { type: 'email', value }, message })
  const mediaUrl = media.at(neverAnswer)
  const hanging: string[] = []
  for (let i = 0; i < 60; i++) hanging.push(await post(`ann${i}@example.com`, unavailable(mediaUrl)))
  const good = await post('bob@example.com', text)
  await service.startWorker()
  expect(await finishedTimeline(service, good, apiKey)).toMatchObject({ status: 'sent', attempts: 1 })
  // Only those before it: when it has been sent, the channel isn't new any more, and the others begin.
  const begun = service.logs
    .filter(({ event }) => event === 'attempt_started')
    .map(({ requestId }) => requestId)
  expect(new Set(begun.slice(0, begun.indexOf(good))).size).toBeLessThan(hanging.length / 2)
})

test('mails to full mailboxes and media that cannot be fetched, retried again and again, delay no other mail of the channel', async (context) => {
  const emulator = await openSmtpEmulator()
  const media = await openWebhookReceiver()
  const service = await startTestService({
    ALLOWED_PRIVATE_NETWORKS: '127.0.0.0/8',
    CLIENT_PRIVATE_NETWORKS: '127.0.0.0/8',
    // All media are fetched at once: one that had to wait would not be called.
    WORKER_CONCURRENCY: '100',
    RETRY_DELAYS_SECONDS: Array.from({ length: 60 }, () => 1).join(),
  })
  context.onTestFinished(async () => {
    await service.stop()
    await emulator.stop()
    await media.stop()
  })
  const { accountId, apiKey } = await buildAccount(service)
  const channelId = await buildProviderChannel(service, accountId, 'smtp', emulator.config)
  const post = (value: string, message: object) =>
    accept(service, { apiKey, channelId }, { contact: { type: 'email', value }, message })
  await service.startWorker('test-worker', { times: { failingForMs } })
  const mediaUrl = media.at(answer(503))
  for (let i = 0; i < 14; i++) {
    await post(`full@${i}.example.com`, text)
    await post(`ann@${i}.example.org`, unavailable(mediaUrl))
  }
  const attempts = () => service.logs.filter(({ event }) => event === 'attempt_finished')
  await eventually('the first attempts', async () => attempts().length >= 28)
  // Waits with some margin: by then calls have failed in a row for long enough to open the channel's circuit breaker.
  await sleep(failingForMs + 500)
  expect(new Set(attempts().map(({ outcome, fault }) => `${outcome} ${fault}`))).toEqual(
    new Set(['retry_later recipient', 'retry_later message']),
  )
  const good = await post('bob@example.com', text)
  expect(await finishedTimeline(service, good, apiKey)).toMatchObject({ status: 'sent', attempts: 1 })
  expect(service.logs.filter(({ event }) => event === 'breaker_opened')).toEqual([])
})
