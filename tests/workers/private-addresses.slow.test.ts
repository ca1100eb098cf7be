import { promises as dns } from 'node:dns'
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { listChannels } from '../../db/accounts/channels.ts'
import type { Timeline } from '../../src/core/sends/timeline.ts'
import { emulatedProviders, startEmulators, stopEmulators } from '../../src/dev/world/emulators.ts'
import type { ProviderName } from '../../src/providers/index.ts'
import { timelineOf } from '../support/attempts.ts'
import { type Account, accept, buildAccount, newContact, post, request } from '../support/builders.ts'
import { recordConnects } from '../support/connects.ts'
import { samples } from '../support/media-samples.ts'
import { buildProviderChannel } from '../support/provider-channel.ts'
import { finishedTimeline, startTestService, type TestService } from '../support/service.ts'
import { eventually } from '../support/wait.ts'
import {
  accept as acceptCall,
  answer,
  type Behaviour,
  openWebhookReceiver,
  type WebhookReceiver,
} from '../support/webhook-receiver.ts'

/** Addresses that are not public, in every way that a URL may write them. */
const writtenHosts = [
  '127.0.0.1',
  '127.1',
  '0x7f000001',
  '0x7f.1',
  '2130706433',
  '0177.0.0.1',
  '127.0.0.1.',
  '127。0。0。1',
  '１２７.0.0.1',
  '%31%32%37.0.0.1',
  '0.0.0.0',
  '0',
  '10.0.0.1',
  '169.254.169.254',
  '[::1]',
  '[::]',
  '[::ffff:127.0.0.1]',
  '[::ffff:169.254.169.254]',
  '[fd00::1]',
  '[fe80::1]',
  '[64:ff9b::7f00:1]',
  '[2002:7f00:1::]',
]

/** Addresses of these tests' names, one answer after the other, the last one for ever; other names are looked up. */
const named: Record<string, string[][]> = {
  'public.test': [['93.184.216.34']],
  'private.test': [['127.0.0.1']],
  'both.test': [['192.0.9.1', '127.0.0.1']],
  'both-ways.test': [['2606:4700::1', '10.0.0.1']],
  'mapped.test': [['::ffff:127.0.0.1']],
  'rebinding.test': [['127.0.0.1'], ['169.254.169.254']],
}
const privateNames = ['localhost', 'LocalHost', 'private.test', 'both.test', 'both-ways.test', 'mapped.test']

const refusedUrls = (port: number) => [
  `HTTP://127.0.0.1:${port}/`,
  `http:\\\\127.0.0.1:${port}/`,
  `http:/127.0.0.1:${port}/`,
  `http://user@127.0.0.1:${port}/`,
  `http://93.184.216.34@127.0.0.1:${port}/`,
  `http://127.0.0.1\t:${port}/`,
  `\nhttp://127.0.0.1:${port}/`,
  `http://[fe80::1%25eth0]:${port}/`,
  'file:///etc/passwd',
  'file://127.0.0.1/etc/passwd',
  `gopher://127.0.0.1:${port}/`,
  `ftp://127.0.0.1:${port}/`,
]

const connects = recordConnects()
let receiver: WebhookReceiver
let emulators: Awaited<ReturnType<typeof startEmulators>>
/** Reaches public addresses only; `allowing` also this machine, and takes sends for the same worker. */
let service: TestService
let allowing: TestService
let account: Account
/** Has a worker that reaches this machine. */
let open: TestService
let openAccount: Account

beforeAll(async () => {
  const lookUp = dns.lookup.bind(dns) as typeof dns.lookup
  vi.spyOn(dns, 'lookup').mockImplementation(((hostname: string, options: { all: true }) => {
    const answers = named[hostname]
    const addresses = answers && answers.length > 1 ? answers.shift() : answers?.[0]
    if (!addresses) return lookUp(hostname, options)
    return Promise.resolve(addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })))
  }) as typeof dns.lookup)
  receiver = await openWebhookReceiver()
  emulators = await startEmulators()
  service = await startTestService()
  allowing = await startTestService({ CLIENT_PRIVATE_NETWORKS: '0.0.0.0/0,::/0' }, service.stores)
  account = await buildAccount(service)
  open = await startTestService({
    ALLOWED_PRIVATE_NETWORKS: '127.0.0.0/8',
    CLIENT_PRIVATE_NETWORKS: '127.0.0.0/8',
  })
  openAccount = await buildAccount(open)
  await Promise.all([service.startWorker(), open.startWorker()])
})
afterAll(async () => {
  await Promise.all([service, allowing, open].map((each) => each.stop()))
  await stopEmulators(emulators)
  await receiver.stop()
  connects.stop()
  vi.restoreAllMocks()
})
beforeEach(() => void connects.attempts.splice(0))

/** Where this process tried to connect to, but for its own stores and APIs. */
function connectedTo(): string[] {
  const { stores } = service
  const ours = [stores.databaseUrl, stores.redisUrl, service.url, allowing.url, open.url]
  const ports = ours.map((url) => Number(new URL(url).port))
  return connects.attempts.filter(({ port }) => !ports.includes(port)).map(({ address }) => address)
}

const urlTo = (host: string) => `http://${host}:${receiver.port}/hooks/0`

const mediaOf = (mediaUrl: string, contact = newContact()) => ({
  contact: { value: contact, type: contact.includes('@') ? 'email' : 'phone' },
  message: { type: 'media', media: { mediaType: 'document', mediaUrl } },
})

/** Sends media that the provider fetches, and waits for the end of the send. */
async function mailWith(mediaUrl: string, by = allowing, owner = account): Promise<Timeline> {
  const { accountId, apiKey } = owner
  const channelId = await buildProviderChannel(by, accountId, 'smtp', emulators.smtp.config)
  const requestId = await accept(by, { apiKey, channelId }, mediaOf(mediaUrl, 'ann@example.com'))
  // The log of the end is the worker's.
  return await finishedTimeline(by === allowing ? service : by, requestId, apiKey)
}

async function sendThrough(provider: ProviderName, config: object, by = service, owner = account) {
  const { accountId, apiKey } = owner
  const channelId = await buildProviderChannel(by, accountId, provider, config)
  const message = { type: 'text', text: { value: 'Hello' } }
  const requestId = await accept(by, { apiKey, channelId }, { contact: { value: newContact() }, message })
  return await finishedTimeline(by, requestId, apiKey)
}

/** Has a text sent through a channel whose provider must not be called, and waits until the channel is held. */
async function heldThrough(
  provider: ProviderName,
  config: object,
  message?: object,
  reason = /the address is not public.*ALLOWED_PRIVATE_NETWORKS/,
): Promise<void> {
  const { accountId, apiKey } = account
  const channelId = await buildProviderChannel(service, accountId, provider, config)
  const body = {
    contact: { value: newContact() },
    message: message ?? { type: 'text', text: { value: 'Hello' } },
  }
  const requestId = await accept(service, { apiKey, channelId }, body)
  const timeline = await eventually('the hold', async () => {
    const found = await timelineOf(service, requestId)
    return found.events.some(({ event }) => event === 'channel_held') && found
  })
  expect(timeline).toMatchObject({ status: 'queued', attempts: 0 })
  expect(reasonsOf(timeline)).toEqual([expect.stringMatching(reason)])
  const channel = (await listChannels(service.runtime.db, accountId)).find(
    (one) => one.channelId === channelId,
  )
  expect(channel).toMatchObject({ heldReason: expect.stringMatching(reason) })
}

const reasonsOf = ({ events }: Timeline) =>
  events
    .filter(({ event }) => event === 'attempt_finished')
    .map((event) => (event as { reason?: string }).reason)

function expectRefused(timeline: Timeline): void {
  expect(timeline.status).toBe('failed')
  expect(reasonsOf(timeline)).not.toEqual([])
  for (const reason of reasonsOf(timeline)) expect(reason).toMatch(/the address is not public/)
}

describe('a mediaUrl', () => {
  test('with an address that is not public is a 400, however it is written, and no connection is opened', async () => {
    for (const url of [...writtenHosts.map(urlTo), ...refusedUrls(receiver.port)]) {
      const { status, body } = await post(service, account, mediaOf(url))
      expect([url, status, body.message]).toEqual([
        url,
        400,
        expect.stringMatching(/^message\.media\.mediaUrl: /),
      ])
    }
    expect(connectedTo()).toEqual([])
  })

  test.each([...writtenHosts.filter((host) => !host.includes('169.254')), ...privateNames])(
    'is not fetched from an address that is not public, although it was accepted: %s',
    async (host) => {
      expectRefused(await mailWith(urlTo(host)))
      expect(connectedTo()).toEqual([])
    },
  )

  test.each(['169.254.169.254', '[::ffff:169.254.169.254]', '[64:ff9b::a9fe:a9fe]', '168.63.129.16'])(
    'with the metadata of a cloud is a 400, whatever networks are allowed: %s',
    async (host) => {
      const { status, body } = await post(allowing, account, mediaOf(urlTo(host)))
      expect([status, body.message]).toEqual([400, expect.stringMatching(/contains an address that is not/)])
    },
  )

  test('is fetched where the network is allowed', async () => {
    const url = receiver.at(answer(200, {}, 'content'))
    expect((await mailWith(url, open, openAccount)).status).toBe('sent')
    expect(connectedTo()).toEqual(['127.0.0.1', '127.0.0.1'])
  })

  test.each([301, 302, 303, 307, 308])('whose answer is a redirect is not followed: %i', async (status) => {
    for (const location of ['http://127.0.0.2:1/', 'http://169.254.169.254/', 'file:///etc/passwd']) {
      const timeline = await mailWith(receiver.at(answer(status, { location })), open, openAccount)
      expect(timeline.status).toBe('failed')
      expect(reasonsOf(timeline)).toEqual([expect.stringMatching(/redirects/)])
    }
    expect(connectedTo().filter((address) => address !== '127.0.0.1')).toEqual([])
  })

  test('is not fetched at all for a provider that accepts links', async () => {
    const { config } = emulators.webhook
    const { accountId, apiKey } = openAccount
    const channelId = await buildProviderChannel(open, accountId, 'webhook', config)
    const requestId = await accept(open, { apiKey, channelId }, mediaOf('http://both.test:1024/'))
    expect((await finishedTimeline(open, requestId, apiKey)).status).toBe('sent')
    expect(connects.attempts.filter(({ port }) => port === 1024)).toEqual([])
  })
})

describe('the url of a webhook', () => {
  const configTo = (url: string) => ({ ...emulators.webhook.config, url })

  test.each([...writtenHosts, ...privateNames])(
    'is not called at an address that is not public, and its channel is held: %s',
    async (host) => {
      await heldThrough('webhook', configTo(urlTo(host)))
      expect(connectedTo()).toEqual([])
    },
  )

  test.each(['http://93.184.216.34/', 'http://public.test/'])(
    'that was stored by a former release is not called by http at a public address, and its channel is held: %s',
    async (url) => {
      await heldThrough('webhook', configTo(url), undefined, /plain text; use https/)
      expect(connectedTo()).toEqual([])
    },
  )

  test('that hides its host is refused for a channel', async () => {
    const { accountId } = account
    for (const url of refusedUrls(receiver.port).filter((each) => !each.startsWith('HTTP:'))) {
      const isTaken = buildProviderChannel(service, accountId, 'webhook', configTo(url)).then(() => url)
      await expect(isTaken).rejects.toThrow(/url/)
    }
    await heldThrough('webhook', configTo(`HTTP://127.0.0.1:${receiver.port}/`))
    expect(connectedTo()).toEqual([])
  })

  test.each([301, 302, 303, 307, 308])('whose answer is a redirect is not followed: %i', async (status) => {
    for (const location of ['http://127.0.0.2:1/', 'http://169.254.169.254/']) {
      const config = configTo(receiver.at(answer(status, { location })))
      const timeline = await sendThrough('webhook', config, open, openAccount)
      expect(timeline.status).toBe('failed')
      expect(reasonsOf(timeline)).toEqual([expect.stringMatching(/redirects/)])
    }
    expect(connectedTo().filter((address) => address !== '127.0.0.1')).toEqual([])
  })

  test('whose name resolves to another address later is resolved once per connection, and called at the address that was checked', async () => {
    const closing: Behaviour = (incoming, response) =>
      acceptCall(incoming, response.setHeader('connection', 'close'))
    const config = configTo(receiver.at(closing).replace('127.0.0.1', 'rebinding.test'))
    expect((await sendThrough('webhook', config, open, openAccount)).status).toBe('sent')
    expect(vi.mocked(dns.lookup).mock.calls.filter(([name]) => name === 'rebinding.test')).toHaveLength(1)
    await heldThrough('webhook', config)
    expect(connectedTo()).toEqual(['127.0.0.1'])
  })
})

describe('the baseUrl of a provider', () => {
  const providers = emulatedProviders.filter((each) => each === 'twilio' || each === 'whatsapp-cloud')
  test.each(
    providers.flatMap((each) =>
      ['127.1', '[::ffff:169.254.169.254]', 'both.test'].map((host) => [each, host] as const),
    ),
  )(
    'is not called at an address that is not public, and its channel is held: %s at %s',
    async (provider, host) => {
      const { statusCallback: _, ...usual } = emulators[provider].config
      const config = { ...usual, baseUrl: `http://${host}:${receiver.port}` }
      await heldThrough(provider, config)
      if (provider === 'whatsapp-cloud') {
        // Its upload is a call of its own.
        const media = { mediaType: 'image', base64: samples.png.toString('base64') }
        await heldThrough(provider, config, { type: 'media', media })
      }
      expect(connectedTo()).toEqual([])
    },
  )
})

test('the route of media links fetches nothing, whatever it is asked for', async () => {
  for (const token of [urlTo('127.0.0.1'), 'http://169.254.169.254/', 'file:///etc/passwd'])
    expect((await request(open, `/media/${encodeURIComponent(token)}`)).status).toBe(404)
  expect(connectedTo()).toEqual([])
})
