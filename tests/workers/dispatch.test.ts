import { setTimeout as sleep } from 'node:timers/promises'
import { v7 as uuidv7 } from 'uuid'
import { expect, test } from 'vitest'
import { sealConfig } from '../../src/core/channels/sealed-config.ts'
import { parseNetwork } from '../../src/core/requests/public-address.ts'
import type { Outcome } from '../../src/core/sends/outcome.ts'
import type { Delivery } from '../../src/providers/delivery.ts'
import { createMediaFetcher } from '../../workers/http/media-fetcher.ts'
import type { Sender } from '../../workers/providers/sender.ts'
import { createDispatch } from '../../workers/sends/dispatch.ts'
import type { EnteredSend } from '../../workers/sends/send-states.ts'
import { accept, buildAccount } from '../support/builders.ts'
import { buildEnteredSend } from '../support/entered-sends.ts'
import { livingWorker } from '../support/living-worker.ts'
import { alikeProviders } from '../support/providers.ts'
import { serviceOfFile } from '../support/service.ts'
import { expectSooner, timed } from '../support/standstill.ts'
import { answer, delay, openWebhookReceiver } from '../support/webhook-receiver.ts'

const service = await serviceOfFile({ PROVIDER_TIMEOUT_SECONDS: '1' })

const buildSend = (changes?: Partial<EnteredSend>) => buildEnteredSend(service, changes)

async function dispatchBy(send: Sender['send'], changes: Partial<EnteredSend> = {}) {
  const heartbeat = await livingWorker(service, 'a')
  return await createDispatch(service.runtime, alikeProviders({ send }), heartbeat)(buildSend(changes))
}

const sent = async (): Promise<Outcome> => ({ outcome: 'sent' })

test.concurrent('a provider that ignores its signal is abandoned at the time limit, and the outcome is uncertain', async () => {
  const { outcome, durationMs, stoodStillMs } = await timed(() => dispatchBy(() => new Promise(() => {})))
  expect(outcome.outcome).toBe('uncertain')
  expect(durationMs).toBeGreaterThanOrEqual(1000)
  expectSooner({ tookMs: durationMs, stoodStillMs }, 2500)
})

test.concurrent('a call whose bytes move may take longer than PROVIDER_TIMEOUT_SECONDS', async () => {
  const { outcome, durationMs } = await dispatchBy(async (_delivery, _signal, moved) => {
    for (let i = 0; i < 40; i++) {
      moved?.(100_000)
      await sleep(40)
    }
    return sent()
  })
  expect(outcome.outcome).toBe('sent')
  expect(durationMs).toBeGreaterThan(1500)
})

test('a provider that throws leaves the outcome uncertain, never a blind retry', async () => {
  const { outcome } = await dispatchBy(() => Promise.reject(new Error('a fault of ours')))
  expect(outcome.outcome).toBe('uncertain')
})

test('media that is no longer kept is not sent without its content', async () => {
  const message = { type: 'media', media: { mediaType: 'document', sizeBytes: 5 } } as const
  const { outcome } = await dispatchBy(sent, { message })
  expect(outcome).toMatchObject({ outcome: 'rejected', reason: expect.stringContaining('media') })
})

const notHere = (setting: string) => ({
  outcome: 'not_called',
  delayMs: 30_000,
  reason: expect.stringContaining(setting),
})

test('a config that the worker cannot open uses no attempt: another worker may have the right key', async () => {
  const { outcome } = await dispatchBy(sent, { channelId: uuidv7() })
  expect(outcome).toEqual(notHere('CREDENTIALS_KEY'))
})

test('media that the provider would fetch from a service without PUBLIC_BASE_URL uses no attempt; a link needs no such setting', async () => {
  const media = { mediaType: 'document', mimetype: 'text/plain' } as const
  const body = {
    contact: { value: '+4915112345678' },
    message: { type: 'media', media: { ...media, base64: 'SGVsbG8=' } },
  }
  const requestId = await accept(service, await buildAccount(service), body)
  const config = { accountSid: `AC${'0'.repeat(32)}`, authToken: 'token', from: '+15550100100' }
  const channelId = uuidv7()
  const sealedConfig = sealConfig(config, channelId, service.runtime.settings.CREDENTIALS_KEY)
  const onTwilio = { provider: 'twilio', channelId, sealedConfig, requestId } as const
  const withContent = { type: 'media', media: { ...media, sizeBytes: 5 } } as const
  const { outcome } = await dispatchBy(sent, { ...onTwilio, message: withContent })
  expect(outcome).toEqual(notHere('PUBLIC_BASE_URL'))
  const withLink = { type: 'media', media: { ...media, mediaUrl: 'https://example.com/a.txt' } } as const
  expect((await dispatchBy(sent, { ...onTwilio, message: withLink })).outcome).toEqual({ outcome: 'sent' })
})

test('with a rate the call waits until it may be made', async () => {
  const calledAt: number[] = []
  const callAt = performance.now() + 300
  const { outcome } = await dispatchBy(
    async () => {
      calledAt.push(performance.now())
      return sent()
    },
    { callAt, tooLateAt: callAt + 5000 },
  )
  expect(outcome).toEqual({ outcome: 'sent' })
  expect(calledAt[0]).toBeGreaterThanOrEqual(callAt - 2)
})

test('if media takes longer to fetch than the permit is valid, the call is not made late', async (context) => {
  const files = await openWebhookReceiver()
  context.onTestFinished(files.stop)
  const url = files.at(delay(300, answer(200, {}, 'x')))
  const media = createMediaFetcher({ allowedPrivateNetworks: [parseNetwork('127.0.0.0/8')] })
  context.onTestFinished(media.close)
  const calls: Delivery<unknown>[] = []
  const send: Sender['send'] = (delivery) => {
    calls.push(delivery)
    return sent()
  }
  const heartbeat = await livingWorker(service, 'a')
  const dispatch = createDispatch(service.runtime, alikeProviders({ send, media }), heartbeat)
  const message = { type: 'media', media: { mediaType: 'document', mediaUrl: url } } as const
  const callIn = (ms: number, lastsMs: number) => {
    const callAt = performance.now() + ms
    return { callAt, tooLateAt: callAt + lastsMs }
  }
  const claimed = buildSend({ message })
  const { outcome } = await dispatch({ ...claimed, ...callIn(50, 50) })
  expect(outcome).toMatchObject({ outcome: 'not_called', reason: expect.stringContaining('rate') })
  expect(calls).toEqual([])
  expect((await dispatch({ ...claimed, ...callIn(50, 20_000) })).outcome).toEqual({ outcome: 'sent' })
  expect(calls).toMatchObject([{ mediaContent: Buffer.from('x') }])
  expect(files.calls).toHaveLength(1)
})

test('a call whose permit has expired is not made: it would come too close to the next ones', async () => {
  const past = performance.now() - 1
  const { outcome } = await dispatchBy(() => Promise.reject(new Error('called')), {
    callAt: past,
    tooLateAt: past,
  })
  expect(outcome).toMatchObject({ outcome: 'not_called', reason: expect.stringContaining('rate') })
})
