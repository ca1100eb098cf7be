import { afterAll, beforeAll, expect, test } from 'vitest'
import { listChannels, updateChannel } from '../../db/accounts/channels.ts'
import { mintMediaLink } from '../../src/core/messages/media-link.ts'
import type { Timeline } from '../../src/core/sends/timeline.ts'
import { startTwilioEmulator, type TwilioEmulator } from '../../src/providers/twilio/dev/emulator.ts'
import { type Account, accept, buildAccount, request, textBody } from '../support/builders.ts'
import { samples } from '../support/media-samples.ts'
import { portToKeep } from '../support/port.ts'
import { buildProviderChannel } from '../support/provider-channel.ts'
import { finishedTimeline, startTestService, type TestService, testSecrets } from '../support/service.ts'
import { eventually } from '../support/wait.ts'

let service: TestService
let emulator: TwilioEmulator
let account: Account

beforeAll(async () => {
  const port = await portToKeep()
  emulator = await startTwilioEmulator({ fetchesMedia: true })
  service = await startTestService({
    PORT: String(port),
    PUBLIC_BASE_URL: `http://127.0.0.1:${port}`,
    ALLOWED_PRIVATE_NETWORKS: '127.0.0.0/8',
    CLIENT_PRIVATE_NETWORKS: '127.0.0.0/8',
    // Media would go with its send's end, if it weren't for the links to it.
    MEDIA_RETENTION_HOURS: '0',
  })
  account = await buildAccount(service)
  await service.startWorker()
})
afterAll(async () => {
  await service.stop()
  await emulator.stop()
})

const buildTwilio = async (changes: object = {}) => ({
  ...account,
  channelId: await buildProviderChannel(service, account.accountId, 'twilio', {
    ...emulator.config,
    ...changes,
  }),
})

test('a send that expires leaves no more time than that to Twilio', async () => {
  const owner = await buildTwilio()
  await updateChannel(service.runtime.db, owner.channelId, { expireAfterSeconds: 300 })
  const requestId = await accept(service, owner, textBody())
  await finishedTimeline(service, requestId, account.apiKey)
  const seconds = Number(emulator.calls.splice(0)[0]?.form.ValidityPeriod)
  expect(seconds).toBeGreaterThan(200)
  expect(seconds).toBeLessThan(300)
})

test('an image that came as base64 is fetched by Twilio, by HEAD and GET, to the byte', async () => {
  const owner = await buildTwilio()
  const image = { mediaType: 'image', base64: samples.png.toString('base64'), caption: 'A dot' }
  const requestId = await accept(service, owner, {
    contact: { value: '+4915112345678' },
    message: { type: 'media', media: image },
  })
  const timeline = await finishedTimeline(service, requestId, account.apiKey)
  expect(timeline).toMatchObject({ status: 'sent', attempts: 1 })
  expect(timeline.providerMessageId).toMatch(/^MM[0-9a-f]{32}$/)
  await eventually('the media is fetched', async () => emulator.fetched.length === 2)
  const [call] = emulator.calls
  const url = call?.form.MediaUrl ?? ''
  expect(call?.form).toMatchObject({ To: '+4915112345678', Body: 'A dot' })
  expect(url.startsWith(`${service.url}/media/${requestId}.`)).toBe(true)
  const contentType = 'image/png'
  expect(emulator.fetched).toEqual([
    { url, method: 'HEAD', status: 200, contentType, content: Buffer.alloc(0) },
    { url, method: 'GET', status: 200, contentType, content: samples.png },
  ])

  const token = url.slice(url.lastIndexOf('/') + 1)
  expect(JSON.stringify(service.logs)).not.toContain(token)
  const [id = '', expiry = '', signature = ''] = token.split('.')
  const later = `${id}.${Number(expiry) + 3600}.${signature}`
  const other = `${id.slice(0, -1)}${id.endsWith('0') ? '1' : '0'}.${expiry}.${signature}`
  const key = Buffer.from(testSecrets.CREDENTIALS_KEY, 'base64')
  const expired = mintMediaLink(service.url, requestId, new Date(Date.now() - 1000), key)
  for (const link of [`${service.url}/media/${later}`, `${service.url}/media/${other}`, `${url}x`, expired]) {
    for (const method of ['HEAD', 'GET']) {
      const response = await fetch(link, { method })
      expect(response.status).toBe(404)
      expect(await response.text()).not.toContain('PNG')
    }
  }
})

test("refused credentials hold the channel, with Twilio's words in the timeline, until they are fixed", async () => {
  const owner = await buildTwilio({ authToken: 'n0t-the-token' })
  const requestId = await accept(service, owner, textBody())
  const held = await eventually('the channel is held', async () => {
    const channels = await listChannels(service.runtime.db, account.accountId)
    return channels.find(({ channelId, heldAt }) => channelId === owner.channelId && heldAt !== null)
  })
  const reason = "Twilio: the channel's credentials are not accepted: Authenticate"
  expect(held.heldReason).toBe(reason)
  const timeline: Timeline = await eventually('the hold is in the timeline', async () => {
    const headers = { Authorization: `Bearer ${account.apiKey}` }
    const { body } = await request(service, `/v1/messages/${requestId}`, { headers })
    return body.events.some(({ event }: { event: string }) => event === 'channel_held') && body
  })
  expect(timeline.status).toBe('queued')
  expect(timeline.events).toContainEqual(
    expect.objectContaining({
      event: 'attempt_finished',
      outcome: 'channel_refused',
      providerStatus: 401,
      providerCode: '20003',
      reason,
    }),
  )
  expect(timeline.events).toContainEqual(expect.objectContaining({ event: 'channel_held', reason }))
  expect(JSON.stringify([timeline, service.logs])).not.toContain('n0t-the-token')
})
