import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Timeline } from '../../src/core/sends/timeline.ts'
import { startTwilioEmulator, type TwilioEmulator } from '../../src/providers/twilio/dev/emulator.ts'
import { twilioError } from '../../src/providers/twilio/dev/message.ts'
import { type Account, accept, buildAccount, request } from '../support/builders.ts'
import { buildProviderChannel } from '../support/provider-channel.ts'
import { startTestService, type TestService } from '../support/service.ts'
import { eventually } from '../support/wait.ts'

let service: TestService
let account: Account
let emulator: TwilioEmulator

beforeAll(async () => {
  emulator = await startTwilioEmulator()
  service = await startTestService({ ALLOWED_PRIVATE_NETWORKS: '127.0.0.0/8' })
  account = await buildAccount(service)
  await service.startWorker()
})
afterAll(async () => {
  await service.stop()
  await emulator.stop()
})

test("a send that meets the account's limit of a day is tried once, and waits until the day is over in UTC", async () => {
  const channelId = await buildProviderChannel(service, account.accountId, 'twilio', emulator.config)
  const providerDay = { date: new Date('2026-11-22T18:00:00Z').toUTCString() }
  emulator.answerNext({ ...twilioError(429, 63038, 'Account exceeded the limit'), headers: providerDay })
  const body = {
    contact: { value: '+4915112345678' },
    message: { type: 'text', text: { value: 'Hello' } },
  }
  const requestId = await accept(service, { ...account, channelId }, body)
  const timeline = await eventually('a retry is scheduled', async () => {
    const { body } = await request(service, `/v1/messages/${requestId}`, {
      headers: { Authorization: `Bearer ${account.apiKey}` },
    })
    return (body as Timeline).events.some(({ event }) => event === 'retry_scheduled') && (body as Timeline)
  })
  expect(timeline).toMatchObject({ status: 'queued', attempts: 1 })
  const finished = timeline.events.find(({ event }) => event === 'attempt_finished')
  expect(finished).toMatchObject({ outcome: 'retry_later', fault: 'sender', providerCode: '63038' })
  const scheduled = timeline.events.find(({ event }) => event === 'retry_scheduled')
  expect(timeline.nextAttemptAt).toBe(scheduled?.nextAttemptAt)
  expect(Date.parse(String(scheduled?.nextAttemptAt)) - Date.parse(String(finished?.at))).toBe(6 * 3_600_000)
})
