import { afterAll, beforeAll, expect, test } from 'vitest'
import { listChannels, updateChannel } from '../../db/accounts/channels.ts'
import { type Emulators, startEmulators, stopEmulators } from '../../src/dev/world/emulators.ts'
import { type EmulatedChannels, seedDemoAccount, seedEmulatedChannels } from '../../src/dev/world/seed.ts'
import { providerNames } from '../../src/providers/index.ts'
import type { WebhookEmulator } from '../../src/providers/webhook/dev/emulator.ts'
import { accept } from '../support/builders.ts'
import { finishedTimeline, startTestService, type TestService, testSecrets } from '../support/service.ts'

let service: TestService
let environment: Record<string, string>
const started: Emulators[] = []

beforeAll(async () => {
  service = await startTestService({ ALLOWED_PRIVATE_NETWORKS: '127.0.0.0/8' })
  await service.startWorker()
  environment = { ...testSecrets, DATABASE_URL: service.stores.databaseUrl }
})
afterAll(async () => {
  for (const emulators of started) await stopEmulators(emulators)
  await service.stop()
})

const takenBy = ({ emulators }: { emulators: Emulators }) => (emulators.webhook as WebhookEmulator).taken

async function start(accountId: string): Promise<{ emulators: Emulators; channels: EmulatedChannels }> {
  const emulators = await startEmulators()
  started.push(emulators)
  return { emulators, channels: await seedEmulatedChannels(environment, accountId, emulators) }
}

async function sendByWebhook(apiKey: string, { webhook: channelId }: EmulatedChannels): Promise<string> {
  const body = { contact: { value: '+4915112345678' }, message: { type: 'text', text: { value: 'Hello' } } }
  const requestId = await accept(service, { apiKey, channelId }, body)
  await finishedTimeline(service, requestId, apiKey)
  return requestId
}

test('an account has a channel of every provider', async () => {
  const { accountId } = await seedDemoAccount(environment)
  await start(accountId)
  const channels = await listChannels(service.runtime.db, accountId)
  expect(channels.map(({ provider }) => provider).sort()).toEqual([...providerNames].sort())
})

test("the next start keeps the channels and points them at the emulators' new addresses", async () => {
  const { accountId, apiKey } = await seedDemoAccount(environment)
  const first = await start(accountId)
  const second = await start(accountId)
  expect(second.channels).toEqual(first.channels)
  const requestId = await sendByWebhook(apiKey, second.channels)
  expect(takenBy(first).has(requestId)).toBe(false)
  expect(takenBy(second).has(requestId)).toBe(true)
})

test('missing channels are created, and a channel of your own stays as it is', async () => {
  const { accountId } = await seedDemoAccount(environment)
  const { channels } = await start(accountId)
  await updateChannel(service.runtime.db, channels.webhook, { name: 'Mine' })
  const anew = (await start(accountId)).channels
  expect(anew).toEqual({ ...channels, webhook: expect.not.stringMatching(channels.webhook) })
  const names = (await listChannels(service.runtime.db, accountId)).map(({ name }) => name)
  expect(names).toContain('Mine')
})
