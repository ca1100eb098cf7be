import { v7 as uuidv7 } from 'uuid'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Outcome } from '../../src/core/outcome.ts'
import { sealConfig } from '../../src/core/sealed-config.ts'
import type { EnteredSend } from '../../workers/deliver.ts'
import { dispatcher } from '../../workers/dispatch.ts'
import type { Provider } from '../../workers/provider.ts'
import { livingWorker } from '../support/living-worker.ts'
import { alikeProviders } from '../support/providers.ts'
import { startTestService, type TestService } from '../support/service.ts'
import { expectSooner, timed } from '../support/standstill.ts'

let service: TestService

beforeAll(async () => {
  service = await startTestService({ PROVIDER_TIMEOUT_SECONDS: '1' })
})
afterAll(() => service.stop())

function buildSend(changes: Partial<EnteredSend> = {}): EnteredSend {
  const channelId = uuidv7()
  return {
    requestId: uuidv7(),
    accountId: uuidv7(),
    channelId,
    contact: { type: 'phone', value: '+4915112345678' },
    message: { type: 'text', text: { value: 'Hello' } },
    flowId: null,
    closeConversation: false,
    conversationId: uuidv7(),
    attempt: 1,
    attemptsBeforeReplay: 0,
    worker: 'a',
    claimId: uuidv7(),
    traceparent: null,
    provider: 'sandbox',
    sealedConfig: sealConfig({}, channelId, service.runtime.settings.CREDENTIALS_KEY),
    onUncertain: 'hold',
    isLimited: false,
    isOverflow: false,
    isProbe: false,
    callInMs: null,
    tooLateInMs: null,
    ...changes,
  }
}

async function dispatchBy(send: Provider['send'], changes: Partial<EnteredSend> = {}) {
  const heartbeat = await livingWorker(service, 'a')
  return await dispatcher(service.runtime, alikeProviders({ send }), heartbeat)(buildSend(changes))
}

const sent = async (): Promise<Outcome> => ({ outcome: 'sent' })

test('a provider that heeds nothing is left behind when its time is over, and the outcome is uncertain', async () => {
  const { outcome, durationMs, stoodStillMs } = await timed(() => dispatchBy(() => new Promise(() => {})))
  expect(outcome.outcome).toBe('uncertain')
  expect(durationMs).toBeGreaterThanOrEqual(1000)
  expectSooner({ tookMs: durationMs, stoodStillMs }, 2500)
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

test("another channel's config does not open", async () => {
  const { outcome } = await dispatchBy(sent, { channelId: uuidv7() })
  expect(outcome.outcome).toBe('retry_later')
})

test('with a rate the call waits for its moment', async () => {
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

test('a call whose moment has passed is not made: it would come too close to the next ones', async () => {
  const past = performance.now() - 1
  const { outcome } = await dispatchBy(() => Promise.reject(new Error('called')), {
    callAt: past,
    tooLateAt: past,
  })
  expect(outcome).toMatchObject({ outcome: 'not_called', reason: expect.stringContaining('rate') })
})
