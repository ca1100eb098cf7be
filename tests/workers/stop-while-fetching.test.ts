import { expect, test } from 'vitest'
import { openSmtpEmulator } from '../../src/providers/smtp/dev/emulator.ts'
import { accept, buildAccount } from '../support/builders.ts'
import { buildProviderChannel } from '../support/provider-channel.ts'
import { finishedTimeline, startTestService } from '../support/service.ts'
import { eventually } from '../support/wait.ts'
import { answer, neverAnswer, openWebhookReceiver } from '../support/webhook-receiver.ts'

test('a worker that stops puts off the sends whose media is being fetched; the next worker sends them', async (context) => {
  const emulator = await openSmtpEmulator()
  const files = await openWebhookReceiver()
  const service = await startTestService({
    ALLOWED_PRIVATE_NETWORKS: '127.0.0.0/8',
    CLIENT_PRIVATE_NETWORKS: '127.0.0.0/8',
    // Longer than the test: the worker must not wait for the fetch.
    PROVIDER_TIMEOUT_SECONDS: '25',
  })
  context.onTestFinished(async () => {
    await service.stop()
    await emulator.stop()
    await files.stop()
  })
  const { accountId, apiKey } = await buildAccount(service)
  const channelId = await buildProviderChannel(service, accountId, 'smtp', emulator.config)
  let isHanging = true
  const mediaUrl = files.at((request, response) =>
    (isHanging ? neverAnswer : answer(200, {}, 'x'))(request, response),
  )
  const requestId = await accept(
    service,
    { apiKey, channelId },
    {
      contact: { type: 'email', value: 'ann@example.com' },
      message: { type: 'media', media: { mediaType: 'document', mediaUrl } },
    },
  )
  const worker = await service.startWorker('stopped')
  await eventually('the media is asked for', async () => files.calls.length === 1)
  isHanging = false
  await worker.stop()
  expect(service.logsOf(requestId)).toContainEqual(
    expect.objectContaining({
      event: 'attempt_finished',
      outcome: 'not_called',
      reason: 'the worker was stopped while it fetched the media',
    }),
  )
  expect(emulator.calls).toEqual([])
  await service.startWorker('next')
  expect(await finishedTimeline(service, requestId, apiKey)).toMatchObject({ status: 'sent', attempts: 1 })
  expect(emulator.calls).toHaveLength(1)
})
