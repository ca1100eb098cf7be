import { afterAll, beforeAll, expect, type TestContext, test } from 'vitest'
import { parseNetwork } from '../../../src/core/requests/public-address.ts'
import type { Outcome } from '../../../src/core/sends/outcome.ts'
import { type ProviderName, providers } from '../../../src/providers/index.ts'
import { openSmtpEmulator } from '../../../src/providers/smtp/dev/emulator.ts'
import { webhook } from '../../../src/providers/webhook/index.ts'
import { openWhatsAppEmulator } from '../../../src/providers/whatsapp-cloud/dev/emulator.ts'
import { whatsappCloud } from '../../../src/providers/whatsapp-cloud/index.ts'
import { createHttpClient, type HttpClient } from '../../../workers/http/http.ts'
import { createMediaFetcher } from '../../../workers/http/media-fetcher.ts'
import { withinTimeLimit } from '../../../workers/http/time-limit.ts'
import type { Sender } from '../../../workers/providers/sender.ts'
import { createSmtpSender } from '../../../workers/providers/smtp.ts'
import { buildDelivery } from '../../support/deliveries.ts'
import { httpSender } from '../../support/http-sender.ts'
import { openSlowLine } from '../../support/slow-line.ts'
import { expectSooner, timed } from '../../support/standstill.ts'
import { accept, openWebhookReceiver, webhookSecret } from '../../support/webhook-receiver.ts'

const timeoutMs = 5000
/** At which the largest content takes longer than the timeout, and what sockets hold of it doesn't. */
const bytesPerSecond = 2_500_000
const timeToTestMs = 60_000
const content = Buffer.alloc(16 * 1024 * 1024, 'outbound')

const options = { allowedPrivateNetworks: [parseNetwork('127.0.0.0/8')] }
const media = createMediaFetcher(options)
let http: HttpClient

beforeAll(() => {
  http = createHttpClient(options)
})
afterAll(async () => {
  await Promise.all([http.close(), media.close()])
})

async function lineTo(test: TestContext, port: number, rate = bytesPerSecond): Promise<number> {
  const line = await openSlowLine(port, rate)
  test.onTestFinished(() => line.stop())
  return line.port
}

/** Sends the largest media, within the time limit that a worker gives it. */
async function sendLargest(name: ProviderName, provider: Sender, config: object) {
  const rules = providers[name]
  const message = {
    type: 'media',
    media: { mediaType: 'document', mimetype: 'text/plain', filename: 'a.txt', sizeBytes: content.length },
  } as const
  const delivery = buildDelivery(rules, rules.config.parse(config), { message, mediaContent: content })
  const leftBehind: Outcome = { outcome: 'uncertain', fault: 'provider', reason: 'left behind' }
  return await timed(async () => ({
    outcome: await withinTimeLimit(
      timeoutMs,
      (signal, moved) => provider.send(delivery, signal, moved),
      leftBehind,
    ),
  }))
}

function expectSentSlowly({ outcome, tookMs }: Awaited<ReturnType<typeof sendLargest>>) {
  expect(outcome).toMatchObject({ outcome: 'sent' })
  // Otherwise the line was not slow, and the test showed nothing.
  expect(tookMs).toBeGreaterThan(timeoutMs)
}

/** A webhook behind a line of this rate. */
async function slowWebhook(test: TestContext, rate?: number) {
  const receiver = await openWebhookReceiver()
  test.onTestFinished(() => receiver.stop())
  const port = await lineTo(test, receiver.port, rate)
  const url = receiver.at(accept).replace(String(receiver.port), String(port))
  return { receiver, config: { url, secret: webhookSecret } }
}

test('16 MiB over a slow line reach a webhook whole, in a call that takes longer than the timeout', {
  timeout: timeToTestMs,
}, async (context) => {
  const { receiver, config } = await slowWebhook(context)
  expectSentSlowly(await sendLargest('webhook', httpSender(webhook, http) as Sender, config))
  const [call] = receiver.calls
  expect(call).toMatchObject({ isVerified: true })
  expect(JSON.parse(call?.body ?? '{}').message.media.base64 === content.toString('base64')).toBe(true)
})

test('16 MiB over a slow line are uploaded to WhatsApp whole', {
  timeout: timeToTestMs,
}, async (context) => {
  const emulator = await openWhatsAppEmulator()
  context.onTestFinished(() => emulator.stop())
  const baseUrl = new URL(String(emulator.config.baseUrl))
  baseUrl.port = String(await lineTo(context, Number(baseUrl.port)))
  const config = { ...emulator.config, baseUrl: baseUrl.origin }
  expectSentSlowly(await sendLargest('whatsapp-cloud', httpSender(whatsappCloud, http) as Sender, config))
})

test('a mail with 16 MiB over a slow line is accepted whole', {
  timeout: timeToTestMs,
}, async (context) => {
  const emulator = await openSmtpEmulator()
  context.onTestFinished(() => emulator.stop())
  const config = { ...emulator.config, port: await lineTo(context, emulator.config.port) }
  expectSentSlowly(await sendLargest('smtp', createSmtpSender(media) as Sender, config))
  const [{ mail } = {}] = emulator.calls
  expect(mail?.content.equals(content)).toBe(true)
})

test('a receiver that stops reading ends the call a timeout later, not when a slow line would have been done', {
  timeout: timeToTestMs,
}, async (context) => {
  const { config } = await slowWebhook(context, 0)
  const { outcome, ...span } = await sendLargest('webhook', httpSender(webhook, http) as Sender, config)
  expect(outcome).toMatchObject({ outcome: 'uncertain' })
  expect(span.tookMs).toBeGreaterThanOrEqual(timeoutMs)
  expectSooner(span, 4 * timeoutMs)
})
