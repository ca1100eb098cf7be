import { expect, test } from 'vitest'
import { openSmtpEmulator } from '../../src/providers/smtp/dev/emulator.ts'
import { type Account, accept, buildAccount } from '../support/builders.ts'
import { buildProviderChannel } from '../support/provider-channel.ts'
import { finishedTimeline, startTestService } from '../support/service.ts'
import { eventually } from '../support/wait.ts'
import { answer, neverAnswer, openWebhookReceiver } from '../support/webhook-receiver.ts'

const slots = 10
const maxOfAccount = 2

test("media of one account that hang delay nobody else's mails, with media or without, nor fill a worker", async (context) => {
  const files = await openWebhookReceiver()
  const emulator = await openSmtpEmulator()
  const service = await startTestService({
    WORKER_CONCURRENCY: String(slots),
    PROVIDER_TIMEOUT_SECONDS: '25',
    ALLOWED_PRIVATE_NETWORKS: '127.0.0.0/8',
    CLIENT_PRIVATE_NETWORKS: '127.0.0.0/8',
  })
  context.onTestFinished(async () => {
    await files.stop()
    await service.stop()
    await emulator.stop()
  })
  let mails = 0
  const send = ({ apiKey }: Account, channelId: string, message: object) =>
    accept(
      service,
      { apiKey, channelId },
      { contact: { type: 'email', value: `contact-${mails++}@example.com` }, message },
    )
  const link = (mediaUrl: string) => ({ type: 'media', media: { mediaType: 'document', mediaUrl } })
  const [hanging, other] = [await buildAccount(service), await buildAccount(service)]
  const channelOf = ({ accountId }: Account) =>
    buildProviderChannel(service, accountId, 'smtp', emulator.config)

  // Over several channels: the quota of one is smaller than the number of slots.
  const bad = files.at(neverAnswer)
  const hung: string[] = []
  for (let i = 0; i < 3; i++) {
    const channelId = await channelOf(hanging)
    for (let j = 0; j < 10; j++) hung.push(await send(hanging, channelId, link(bad)))
  }
  await service.startWorker()
  const asked = () => files.calls.length
  await eventually('media hang', async () => asked() >= maxOfAccount)

  const [goodChannel, good] = [await channelOf(other), files.at(answer(200, {}, 'x'))]
  const sent: string[] = []
  for (let i = 0; i < 5; i++) {
    sent.push(await send(other, goodChannel, link(good)))
    sent.push(await send(other, goodChannel, { type: 'text', text: { value: 'Hello' } }))
  }
  for (const requestId of sent) {
    expect((await finishedTimeline(service, requestId, other.apiKey)).status).toBe('sent')
  }
  // The calls that hung from the beginning still hang: no other send waited for them.
  expect(asked() - sent.length / 2).toBe(maxOfAccount)
  const { rows } = await service.runtime.db.$client.query(
    'select count(*)::int as count from sends where request_id = any($1) and attempt > 1',
    [hung],
  )
  expect(rows).toEqual([{ count: 0 }])
})
