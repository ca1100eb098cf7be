import { randomBytes } from 'node:crypto'
import { createServer } from 'node:net'
import { Webhook } from 'standardwebhooks'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { ReceiptRequest } from '../../../src/core/receipts/receipt.ts'
import { parseNetwork } from '../../../src/core/requests/public-address.ts'
import { type Fault, longestRetryAfterMs } from '../../../src/core/sends/outcome.ts'
import type { Delivery } from '../../../src/providers/delivery.ts'
import type { EmulatedAnswer } from '../../../src/providers/shared/dev/http-emulator.ts'
import type { WebhookConfig } from '../../../src/providers/webhook/config.ts'
import { startWebhookEmulator } from '../../../src/providers/webhook/dev/emulator.ts'
import { webhook as rules } from '../../../src/providers/webhook/index.ts'
import { webhookReceipts } from '../../../src/providers/webhook/receipts.ts'
import { createHttpClient, type HttpClient, type HttpClientOptions } from '../../../workers/http/http.ts'
import { buildDelivery } from '../../support/deliveries.ts'
import { httpSender } from '../../support/http-sender.ts'
import { expectSooner, timed, unlessStoodStill } from '../../support/standstill.ts'
import { eventually } from '../../support/wait.ts'
import {
  accept,
  acceptAndClose,
  answer,
  answerRaw,
  answerRawAndClose,
  type Behaviour,
  closeAfterReading,
  delay,
  flood,
  neverAnswer,
  openWebhookReceiver,
  resetAfterReading,
  resetBeforeReading,
  webhookSecret as secret,
  trickle,
  type WebhookReceiver,
} from '../../support/webhook-receiver.ts'
import { describeProvider, type FakeServer } from './contract.ts'
import { aRequestId, contactMail, contactPhone, describeReceipts } from './receipts-contract.ts'

const loopback = [parseNetwork('127.0.0.0/8')]
const timeoutMs = 400
const timeToHeedMs = 1000

const fakeServers: Record<FakeServer, EmulatedAnswer | undefined> = {
  accept: undefined,
  reject: { status: 400 },
  fail_for_a_while: { status: 503 },
  limit_rate: { status: 429, headers: { 'retry-after': '2' } },
  drop_after_taking: 'drop',
  never_answer: 'never_answer',
}

describeProvider('webhook', async () => {
  const emulator = await startWebhookEmulator()
  const http = createHttpClient({ allowedPrivateNetworks: loopback })
  return {
    provider: httpSender(rules, http),
    goodConfig: { url: 'https://example.com/messages?from=us', secret },
    badConfig: { url: 'https://example.com/messages' },
    arrange: async (behaviour, delivery) => {
      const answer = fakeServers[behaviour]
      if (answer) emulator.answerNext(answer)
      return { ...delivery, config: emulator.config }
    },
    taken: async (requestId) => emulator.calls.filter(({ headers }) => headers['webhook-id'] === requestId),
    async stop() {
      await emulator.stop()
      await http.close()
    },
  }
})

let receiver: WebhookReceiver
beforeAll(async () => {
  receiver = await openWebhookReceiver()
})
afterAll(() => receiver.stop())

const clients: HttpClient[] = []
afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.close()))
})

function openClient(changes: Partial<HttpClientOptions> = {}): HttpClient {
  const client = createHttpClient({ allowedPrivateNetworks: loopback, ...changes })
  clients.push(client)
  return client
}

function open(changes: Partial<HttpClientOptions> = {}, withinMs = 100_000) {
  const provider = httpSender(rules, openClient(changes))
  return async (to: string | Behaviour, parts: Partial<Delivery<unknown>> = {}) => {
    const url = typeof to === 'string' ? to : receiver.at(to)
    const delivery = buildDelivery(rules, { url, secret }, parts) as Delivery<WebhookConfig>
    const sent = await timed(async () => ({
      outcome: await provider.send(delivery, AbortSignal.timeout(withinMs)),
    }))
    return { ...sent, delivery, calls: receiver.callsOf(delivery.requestId) }
  }
}

describe('the config', () => {
  const url = 'https://example.com/messages'
  const secretOf = (bytes: number) => `whsec_${Buffer.alloc(bytes, 255).toString('base64')}`

  test.each([
    { url, secret: secretOf(24) },
    { url, secret: secretOf(64) },
    { url, secret: [secretOf(24)] },
    { url, secret: [secretOf(24), secretOf(64)] },
    { url: 'HTTP://192.0.2.1:8080/a?b=c#d', secret },
    { url: `${url}?${'x'.repeat(2048 - url.length - 1)}`, secret },
  ])('is accepted: $url', (config) => {
    expect(rules.config.parse(config)).toEqual(config)
  })

  test.each([
    ['an unknown field', { url, secret, retries: 3 }, [], /retries/],
    ['no url', { secret }, ['url'], /./],
    ['a url without a protocol', { url: 'example.com', secret }, ['url'], /start with http:\/\//],
    ['another protocol', { url: 'ftp://example.com', secret }, ['url'], /start with http:\/\//],
    ['no host', { url: 'http:///messages', secret }, ['url'], /name a host/],
    ['what is no url', { url: 'http://a:b/', secret }, ['url'], /has to be a URL/],
    ['a user in the url', { url: 'https://ann@example.com', secret }, ['url'], /user name or password/],
    ['white space in the url', { url: `${url} `, secret }, ['url'], /white space/],
    ['a line break in the url', { url: 'https://exa\nmple.com', secret }, ['url'], /white space/],
    ['a url too long', { url: `${url}?${'x'.repeat(2048)}`, secret }, ['url'], /at most 2048/],
    ['no secret', { url }, ['secret'], /^required$/],
    ['a secret of another kind', { url, secret: 'hunter2' }, ['secret'], /start with whsec_.*openssl/],
    ['a secret in no base64', { url, secret: 'whsec_?' }, ['secret'], /standard base64/],
    ['a secret in url base64', { url, secret: secretOf(24).replaceAll('/', '_') }, ['secret'], /base64/],
    ['a secret without padding', { url, secret: secretOf(25).replace(/=+$/, '') }, ['secret'], /base64/],
    ['a secret too short', { url, secret: secretOf(23) }, ['secret'], /at least 24 bytes/],
    ['a secret too long', { url, secret: secretOf(65) }, ['secret'], /at most 64 bytes/],
    [
      'a secret of the list too long',
      { url, secret: [secret, secretOf(65)] },
      ['secret', 1],
      /at most 64 bytes/,
    ],
    ['a list without secrets', { url, secret: [] }, ['secret'], /1 or 2 secrets/],
    ['three secrets', { url, secret: [secret, secret, secret] }, ['secret'], /1 or 2 secrets/],
    ['a number for a secret', { url, secret: 7 }, ['secret'], /a secret, or a list/],
    ['no delays', { url, secret, retryDelaysSeconds: [] }, ['retryDelaysSeconds'], /empty/],
    [
      'a delay of no time',
      { url, secret, retryDelaysSeconds: [5, 0] },
      ['retryDelaysSeconds', 1],
      /at least 1/,
    ],
    ['half a second', { url, secret, retryDelaysSeconds: [0.5] }, ['retryDelaysSeconds', 0], /whole/],
    ['more than a week', { url, secret, retryDelaysSeconds: [604_801] }, ['retryDelaysSeconds', 0], /604800/],
    ['too many delays', { url, secret, retryDelaysSeconds: Array(21).fill(5) }, ['retryDelaysSeconds'], /20/],
  ])('is refused, and its one fault named: %s', (_, config, path, message) => {
    expect(rules.config.safeParse(config).error?.issues).toMatchObject([
      { path, message: expect.stringMatching(message) },
    ])
  })
})

const media = { mediaType: 'document', filename: 'a.txt', mimetype: 'text/plain' } as const
const template = { name: 'welcome', variables: [{ key: 'name', value: 'Ann' }] }

test.each<[string, Partial<Delivery<unknown>>, object]>([
  ['a text', { message: { type: 'text', text: { value: 'Grüße 👋' } } }, {}],
  ['a template', { message: { type: 'template', template } }, {}],
  ['a link to media', { message: { type: 'media', media: { ...media, mediaUrl: 'https://e.com/a' } } }, {}],
  [
    'media content, in base64 and without its size',
    { message: { type: 'media', media: { ...media, sizeBytes: 5 } }, mediaContent: Buffer.from('Hello') },
    { message: { type: 'media', media: { ...media, base64: 'SGVsbG8=' } } },
  ],
  ['an e-mail contact with a name', { contact: { type: 'email', value: 'a@b.example', name: 'Ann' } }, {}],
  ['a flow', { flowId: 'welcome-flow' }, {}],
])('the receiver gets the message as the API takes it, signed: %s', async (_, parts, changes) => {
  const { delivery, calls } = await open()(accept, parts)
  const { requestId, channelId, contact, message, flowId, conversationId } = delivery
  const expected = { requestId, channelId, contact, message, flowId, conversationId, ...changes }
  expect(calls).toMatchObject([
    {
      isVerified: true,
      headers: {
        'content-type': 'application/json',
        'webhook-id': requestId,
        'webhook-timestamp': expect.stringMatching(/^\d{10}$/),
        'webhook-signature': expect.stringMatching(/^v1,[\w+/]{43}=$/),
      },
    },
  ])
  expect(calls[0]?.body).toBe(JSON.stringify(expected))
})

test.each([256 * 1024 - 1, 256 * 1024, 1_000_001, 16 * 1024 * 1024])(
  'content of %i bytes arrives whole, in base64 and signed, whatever its caption says',
  async (bytes) => {
    const content = Buffer.alloc(bytes, 'outbound')
    const described = { ...media, caption: '"base64":""' }
    const { calls } = await open()(accept, {
      message: { type: 'media', media: { ...described, sizeBytes: bytes } },
      mediaContent: content,
    })
    const [call] = calls
    expect(call?.isVerified).toBe(true)
    expect(call?.headers['content-length']).toBe(String(call?.body.length))
    const { base64, ...rest } = JSON.parse(call?.body ?? '').message.media
    expect(rest).toEqual(described)
    expect(base64 === content.toString('base64')).toBe(true)
  },
)

test.each<[string, Partial<Delivery<unknown>>]>([
  [
    'a registered template',
    { message: { type: 'template', template: { ...template, definition: { text: 'Hello {{name}}' } } } },
  ],
  [
    'media content',
    {
      message: { type: 'media', media: { ...media, caption: 'A note', sizeBytes: 5 } },
      mediaContent: Buffer.from('Hello'),
    },
  ],
  ['an e-mail contact with a name', { contact: { type: 'email', value: 'a@b.example', name: 'Ann' } }],
  ['a flow', { flowId: 'welcome-flow' }],
])('a receiver that refuses what docs/reference/api.md does not document accepts %s', async (_, parts) => {
  const emulator = await startWebhookEmulator()
  const delivery = buildDelivery(rules, emulator.config, parts) as Delivery<WebhookConfig>
  const outcome = await httpSender(rules, openClient()).send(delivery, AbortSignal.timeout(100_000))
  await emulator.stop()
  expect(outcome).toMatchObject({ outcome: 'sent', providerMessageId: `received-${delivery.requestId}` })
})

test('with two secrets each verifies by itself, in the order of the list', async () => {
  const other = `whsec_${Buffer.alloc(32, 'other').toString('base64')}`
  const config = { url: receiver.at(accept), secret: [other, secret] }
  const delivery = buildDelivery(rules, config) as Delivery<WebhookConfig>
  expect(await httpSender(rules, openClient()).send(delivery, AbortSignal.timeout(100_000))).toMatchObject({
    outcome: 'sent',
  })
  const [call] = receiver.callsOf(delivery.requestId)
  if (!call) throw new Error('No call came')
  const headers = call.headers as Record<string, string>
  expect(headers['webhook-signature']).toMatch(/^v1,[\w+/]{43}= v1,[\w+/]{43}=$/)
  for (const known of [other, secret]) {
    expect(new Webhook(known).verify(call.body, headers)).toMatchObject({ requestId: delivery.requestId })
  }
  const stranger = `whsec_${Buffer.alloc(32, 'stranger').toString('base64')}`
  expect(() => new Webhook(stranger).verify(call.body, headers)).toThrow()
  const first = { ...headers, 'webhook-signature': String(headers['webhook-signature']).split(' ')[0] ?? '' }
  expect(() => new Webhook(secret).verify(call.body, first)).toThrow()
})

test('the receiver knows a repeated attempt by its webhook-id', async () => {
  const send = open()
  const { delivery } = await send(answer(503))
  const { calls } = await send(accept, { ...delivery, attempt: 2, config: delivery.config })
  expect(calls.map(({ headers }) => headers['webhook-id'])).toEqual([delivery.requestId, delivery.requestId])
  expect(calls.every(({ isVerified }) => isVerified)).toBe(true)
})

test.each<[number, string, Fault?]>([
  [200, 'sent'],
  [201, 'sent'],
  [204, 'sent'],
  [299, 'sent'],
  [300, 'rejected', 'message'],
  [301, 'rejected', 'message'],
  [307, 'rejected', 'message'],
  [400, 'rejected', 'message'],
  [401, 'retry_later', 'provider'],
  [403, 'retry_later', 'provider'],
  [404, 'retry_later', 'provider'],
  [408, 'retry_later', 'provider'],
  [409, 'rejected', 'message'],
  [410, 'channel_refused', 'sender'],
  [413, 'rejected', 'message'],
  [422, 'rejected', 'message'],
  [425, 'retry_later', 'provider'],
  [429, 'retry_later', 'sender'],
  [500, 'retry_later', 'provider'],
  [502, 'retry_later', 'provider'],
  [503, 'retry_later', 'provider'],
  [599, 'retry_later', 'provider'],
  [600, 'retry_later', 'provider'],
])('an answer %i is %s by the fault of the %s', async (providerStatus, outcome, fault) => {
  const location = receiver.at(accept)
  const url = `${receiver.at(answer(providerStatus, { location }, 'no such contact'))}?token=t0ken`
  const { outcome: result, calls } = await open()(url)
  expect(result).toMatchObject({ outcome, ...(fault && { fault }), providerStatus })
  expect(JSON.stringify(result)).not.toMatch(/no such|t0ken|hooks|127\.0|whsec|4915112345678|Hello/)
  expect(calls).toHaveLength(1)
})

test('an answer after early hints counts by its own status', async () => {
  const bytes = 'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\nHTTP/1.1 422 No\r\ncontent-length: 0\r\n\r\n'
  expect((await open()(answerRaw(bytes))).outcome).toMatchObject({ outcome: 'rejected', providerStatus: 422 })
})

const dateIn = (ms: number) => () => new Date(Date.now() + ms).toUTCString()
test.each([
  ['7', 7000, 7000],
  ['0', 0, 0],
  ['a date in a minute', 50_000, 60_000, dateIn(60_000)],
  ['a date of a minute ago', undefined, undefined, dateIn(-60_000)],
  ['-7', undefined, undefined],
  ['soon, in 2099', undefined, undefined],
  ['9'.repeat(300), longestRetryAfterMs, longestRetryAfterMs],
])('Retry-After is honoured where it can be read: %s', async (value, from, to, dated?: () => string) => {
  for (const status of [429, 503]) {
    const { outcome } = await open()(answer(status, { 'retry-after': dated?.() ?? value }))
    const retryAfterMs = outcome.outcome === 'retry_later' ? outcome.retryAfterMs : 'no retry'
    if (from === undefined) expect(retryAfterMs).toBeUndefined()
    else expect(retryAfterMs).toSatisfy((ms: number) => ms >= from && ms <= to)
  }
})

test.each([
  ['{"id":"m-1"}', 'm-1'],
  ['{"messageId":"m-2"}', 'm-2'],
  ['{"id":"m-1","messageId":"m-2"}', 'm-1'],
  ['{"id":7,"messageId":"m-2"}', 'm-2'],
  ['{"id":7}', undefined],
  ['{"id":""}', undefined],
  ['"m-1"', undefined],
  ['null', undefined],
  ['', undefined],
  ['<html>OK', undefined],
  ['\xff\x01', undefined],
])('a 2xx that says %s is sent, with the id %s', async (body, providerMessageId) => {
  const { outcome } = await open()(answer(200, {}, body))
  expect(outcome).toEqual({ outcome: 'sent', providerMessageId, providerStatus: 200 })
})

const whole = 'HTTP/1.1 200 OK\r\ncontent-length: 12\r\n\r\n{"id":"m-1"}'
test.each<[string, Behaviour, RegExp]>([
  ['a reset before the request is read', resetBeforeReading, /^the connection was lost$/],
  ['a reset after the request was read', resetAfterReading, /^the connection was lost$/],
  ['a connection closed without an answer', closeAfterReading, /^the connection was lost$/],
  ['no answer', neverAnswer, /^no whole answer in time$/],
  ['an answer too late', delay(timeoutMs + 200, accept), /^no whole answer in time$/],
  ['a trickled head', trickle('', whole), /^no whole answer in time$/],
  ['an oversized head', answer(200, { a: 'x'.repeat(20_000) }), /^the headers of the answer are too long$/],
  ['garbage', answerRaw('SSH-2.0-OpenSSH_9.6\r\n'), /^the answer is not HTTP$/],
  [
    'another protocol',
    answerRaw('HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n'),
    /^the answer switches to another protocol \(101\)$/,
  ],
])(
  'what leaves open whether it was taken is uncertain, and frees its slot in time: %s',
  async (_, behaviour, reason) => {
    const sent = await open({}, timeoutMs)(`${receiver.at(behaviour)}?token=t0ken`)
    const expected = { outcome: 'uncertain', fault: 'provider', reason: expect.stringMatching(reason) }
    unlessStoodStill(sent, () => expect(sent.outcome).toEqual(expected))
    expectSooner(sent, timeoutMs + timeToHeedMs)
    expect(sent.calls.length).toBeLessThanOrEqual(1)
    await eventually('no connection is left', async () => receiver.open.size === 0)
  },
)

test.each<[string, Behaviour, object]>([
  [
    'a trickled 200',
    trickle('HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n', ' '.repeat(99)),
    { outcome: 'sent' },
  ],
  ['a 200 without an end', flood, { outcome: 'sent' }],
  ['an oversized 200', answer(200, {}, 'x'.repeat(65_537)), { outcome: 'sent' }],
  ['a 200 that is cut off', answerRawAndClose(whole.slice(0, -4)), { outcome: 'sent' }],
  ['an oversized 410', answer(410, {}, 'x'.repeat(65_537)), { outcome: 'channel_refused' }],
  [
    'an oversized 503',
    answer(503, { 'retry-after': '7' }, 'x'.repeat(65_537)),
    { outcome: 'retry_later', retryAfterMs: 7000 },
  ],
])(
  'a status that has come counts, whatever becomes of the rest, and its slot is free in time: %s',
  async (_, behaviour, expected) => {
    const sent = await open({}, timeoutMs)(receiver.at(behaviour))
    unlessStoodStill(sent, () => expect(sent.outcome).toMatchObject(expected))
    expectSooner(sent, timeoutMs + timeToHeedMs)
    await eventually('no connection is left', async () => receiver.open.size === 0)
  },
)

test('the longest answer that is read is 64 KiB', async () => {
  const body = JSON.stringify({ id: 'm-1' }).padEnd(65_536)
  expect((await open()(answer(200, {}, body))).outcome).toMatchObject({ providerMessageId: 'm-1' })
})

describe('a message that was not sent is tried later', () => {
  const silent = createServer(() => {}).listen(0, '127.0.0.1')
  const portOf = (server: typeof silent) => (server.address() as { port: number }).port
  afterAll(() => silent.close())
  const never = () => new Promise<never>(() => {})
  const unknownName = async () => {
    throw Object.assign(new Error('getaddrinfo ENOTFOUND e.test'), { code: 'ENOTFOUND' })
  }

  test.each<[string, () => string, Partial<HttpClientOptions>, RegExp]>([
    ['a refused connection', () => 'http://127.0.0.1:1/', {}, /^the connection was refused$/],
    ['an unknown name', () => 'http://e.test/', { resolve: unknownName }, /^the host name does not exist$/],
    [
      'a name without addresses',
      () => 'http://e.test/',
      { resolve: async () => [] },
      /^the host name does not exist$/,
    ],
    [
      'a name that is looked up for ever',
      () => 'http://e.test/',
      { resolve: never, connectMs: 1000 },
      /^no connection in time$/,
    ],
    [
      'no TLS at the other end',
      () => `https://127.0.0.1:${receiver.port}/`,
      {},
      /^no TLS connection \(ERR_SSL_\w+\)$/,
    ],
    [
      'TLS that is never agreed',
      () => `https://127.0.0.1:${portOf(silent)}/`,
      { connectMs: 1000 },
      /^no connection in time$/,
    ],
  ])('%s', async (_, url, options, reason) => {
    const sent = await open(options, timeoutMs)(url())
    const expected = { outcome: 'retry_later', fault: 'provider', reason: expect.stringMatching(reason) }
    unlessStoodStill(sent, () => expect(sent.outcome).toEqual(expected))
    expectSooner(sent, timeoutMs + timeToHeedMs)
  })

  test('a call given up while it connects is not made when the connection comes', async () => {
    const address = { address: '127.0.0.1', family: 4 }
    const late = () => new Promise<[typeof address]>((resolve) => setTimeout(resolve, 300, [address]))
    const before = receiver.connections
    const url = receiver.at(accept).replace('127.0.0.1', 'late.test')
    const { outcome, delivery } = await open({ resolve: late }, 100)(url)
    expect(outcome.outcome).toBe('retry_later')
    await new Promise((resolve) => setTimeout(resolve, 500))
    expect(receiver.connections - before).toBeLessThanOrEqual(1)
    expect(receiver.callsOf(delivery.requestId)).toEqual([])
  })

  test('a call that is over before it began opens no connection', async () => {
    const before = receiver.connections
    const http = openClient()
    const request = { url: receiver.at(accept), headers: {}, body: '' }
    expect(await http.post(request, AbortSignal.abort())).toMatchObject({ kind: 'not_sent' })
    expect(receiver.connections).toBe(before)
  })
})

describe('connections', () => {
  test('are few for many sends', async () => {
    const send = open()
    const before = receiver.connections
    const url = receiver.at(accept)
    const outcomes = await Promise.all(
      Array.from({ length: 10 }, async () => {
        const results = []
        for (let i = 0; i < 50; i++) results.push((await send(url)).outcome.outcome)
        return results
      }),
    )
    expect(outcomes.flat()).toEqual(Array(500).fill('sent'))
    expect(receiver.connections - before).toBeLessThanOrEqual(20)
  })

  test('that the receiver closed while idle fail no call', async () => {
    const send = open()
    const url = receiver.at(acceptAndClose)
    const before = receiver.connections
    for (let i = 0; i < 3; i++) {
      const { outcome, calls } = await send(url)
      expect(outcome.outcome).toBe('sent')
      expect(calls).toHaveLength(1)
      await eventually('the receiver closed it', async () => receiver.open.size === 0)
    }
    expect(receiver.connections - before).toBe(3)
  })

  test('that break during a call are not used to repeat it', async () => {
    const send = open()
    for (const behaviour of [resetAfterReading, closeAfterReading]) {
      await send(accept)
      const { outcome, delivery } = await send(behaviour)
      expect(outcome.outcome).toBe('uncertain')
      expect((await send(accept)).outcome.outcome).toBe('sent')
      expect(receiver.callsOf(delivery.requestId)).toHaveLength(1)
    }
  })
})

describe('an address that is not public', () => {
  const refused = {
    outcome: 'channel_refused',
    fault: 'sender',
    reason: expect.stringMatching(/^the address is not public.*ALLOWED_PRIVATE_NETWORKS/),
  }

  test.each([
    '127.0.0.1',
    '127.1',
    '0x7f000001',
    '2130706433',
    '0177.0.0.1',
    '127.0.0.1.',
    '0.0.0.0',
    '[::1]',
    '[::]',
    '[::ffff:127.0.0.1]',
    '[::ffff:7f00:1]',
    '[64:ff9b::7f00:1]',
    '169.254.169.254',
    '10.0.0.1',
    'localhost',
  ])('is not connected to: %s', async (host) => {
    const before = receiver.connections
    const send = open({ allowedPrivateNetworks: [] })
    const { outcome } = await send(receiver.at(accept).replace('127.0.0.1', host))
    expect(outcome).toEqual(refused)
    expect(receiver.connections).toBe(before)
  })

  const resolveTo = (...addresses: string[]) => ({
    resolve: async () => addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
  })
  test.each([
    ['private', ['127.0.0.1']],
    ['public and private', ['192.0.9.1', '127.0.0.1']],
    ['private and public', ['127.0.0.1', '192.0.9.1']],
    ['IPv4 in IPv6', ['::ffff:127.0.0.1']],
  ])('is not connected to by a name: %s', async (_, addresses) => {
    const before = receiver.connections
    const send = open({ allowedPrivateNetworks: [], ...resolveTo(...addresses) })
    const { outcome } = await send(receiver.at(accept).replace('127.0.0.1', 'e.test'))
    expect(outcome).toEqual(refused)
    expect(receiver.connections).toBe(before)
  })

  test('is not connected to by a name whose answer cannot be read, which may be another at the next try', async () => {
    const before = receiver.connections
    const send = open({ allowedPrivateNetworks: [], ...resolveTo(...['fe80::1%br-0_1']) })
    const { outcome } = await send(receiver.at(accept).replace('127.0.0.1', 'e.test'))
    expect(outcome.outcome).toBe('retry_later')
    expect(receiver.connections).toBe(before)
  })

  test('is reached where the operator allows it, also by a name', async () => {
    const url = receiver.at(accept).replace('127.0.0.1', 'e.test')
    expect((await open(resolveTo('127.0.0.1'))(url)).outcome.outcome).toBe('sent')
  })

  test('is not reached by a redirect', async () => {
    const location = receiver.at(accept)
    const { outcome } = await open()(answer(307, { location }))
    expect(outcome).toMatchObject({ outcome: 'rejected', reason: expect.stringMatching(/redirects \(307\)/) })
    expect(receiver.calls.filter(({ path }) => location.endsWith(path))).toEqual([])
  })
})

describe('its receipts', () => {
  const secret = `whsec_${Buffer.alloc(32, 1).toString('base64')}`
  const other = `whsec_${Buffer.alloc(32, 2).toString('base64')}`
  const config = { url: 'https://example.com/messages', secret }
  const nowMs = Date.parse('2026-11-23T14:00:00Z')

  /** Signed by the specification's own library. */
  function signed(body: string | object, { by = secret, atMs = nowMs } = {}): ReceiptRequest {
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    const id = `msg_${randomBytes(8).toString('hex')}`
    return {
      headers: {
        'content-type': 'application/json',
        'webhook-id': id,
        'webhook-timestamp': String(Math.floor(atMs / 1000)),
        'webhook-signature': new Webhook(by).sign(id, new Date(atMs), text),
      },
      target: '/receipts/1',
      body: Buffer.from(text),
      publicBaseUrl: undefined,
      nowMs,
    }
  }

  const receipt = (changes: object = {}) => ({ requestId: aRequestId, status: 'delivered', ...changes })

  describeReceipts('webhook', {
    config,
    otherConfig: { ...config, secret: other },
    words: { delivered: 'delivered', read: 'read', undelivered: 'undelivered' },
    request: async (requestId, status) =>
      signed(
        status === 'undelivered'
          ? {
              requestId,
              status,
              code: 'no_such_user',
              reason: `${contactPhone} and ${contactMail} are unknown`,
            }
          : { requestId, status, at: '2026-11-23T13:59:59+01:00' },
      ),
    unexpected: {},
    unreadable: {
      'no JSON': async () => signed('status=delivered'),
      'an empty list': async () => signed([]),
      'more than 100 receipts': async () => signed(Array.from({ length: 101 }, () => receipt())),
      'an unknown field': async () => signed(receipt({ state: 'delivered' })),
      'an unknown status': async () => signed(receipt({ status: 'sent' })),
      'no requestId': async () => signed({ status: 'delivered' }),
      'a faulty one in a list': async () => signed([receipt(), receipt({ status: 'lost' })]),
      'a time without offset': async () => signed(receipt({ at: '2026-11-23T13:59:59' })),
      'a code of another form': async () => signed(receipt({ code: 'no such user' })),
      null: async () => signed('null'),
    },
    sign: (request) => request,
  })

  const isProven = (request: ReceiptRequest, given: string | string[] = secret) =>
    webhookReceipts.isProven(request, { secret: given })

  test('the specification’s own example is proven', () => {
    const request: ReceiptRequest = {
      headers: {
        'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
        'webhook-timestamp': '1614265330',
        'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
      },
      target: '/receipts/1',
      body: Buffer.from('{"test": 2432232314}'),
      publicBaseUrl: undefined,
      nowMs: 1614265330 * 1000,
    }
    expect(isProven(request, 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw')).toBe(true)
  })

  test.each([
    ['5 minutes old', -5 * 60_000, true],
    ['older', -5 * 60_000 - 1000, false],
    ['5 minutes ahead', 5 * 60_000, true],
    ['further ahead', 5 * 60_000 + 1000, false],
  ])('a request that is %s: proven is %s', (_, offMs, expected) => {
    expect(isProven(signed(receipt(), { atMs: nowMs + Number(offMs) }))).toBe(expected)
  })

  test('while secrets rotate, either of both proves a request, at either end', () => {
    expect(isProven(signed(receipt()), [other, secret])).toBe(true)
    const request = signed(receipt())
    const signatures = `v1,AAAA ${request.headers['webhook-signature']} v2,BBBB`
    expect(isProven({ ...request, headers: { ...request.headers, 'webhook-signature': signatures } })).toBe(
      true,
    )
  })

  test('of very many signatures, the first 10 are compared', () => {
    const request = signed(receipt())
    const withOthers = (count: number) => {
      const signatures = `${'v1,AAAA '.repeat(count)}${request.headers['webhook-signature']}`
      return { ...request, headers: { ...request.headers, 'webhook-signature': signatures } }
    }
    expect(isProven(withOthers(9))).toBe(true)
    expect(isProven(withOthers(10))).toBe(false)
  })

  test('another id or time than the signed one is refused', () => {
    const request = signed(receipt())
    for (const changed of [
      { 'webhook-id': 'msg_other' },
      { 'webhook-timestamp': String(nowMs / 1000 + 1) },
    ]) {
      expect(isProven({ ...request, headers: { ...request.headers, ...changed } })).toBe(false)
    }
  })

  test('up to 100 receipts come in one list; null counts as absent', async () => {
    const list = Array.from({ length: 100 }, () => receipt({ at: null, code: null, reason: null }))
    const read = await webhookReceipts.read(signed(list), config)
    expect('issue' in read ? read : read.receipts).toHaveLength(100)
  })

  test('an issue names the faulty field', async () => {
    expect(await webhookReceipts.read(signed([receipt(), receipt({ status: 'lost' })]), config)).toEqual({
      issue: '[1].status: has to be one of delivered, read, undelivered',
    })
    expect(await webhookReceipts.read(signed(receipt({ state: 1 })), config)).toEqual({
      issue: 'state: unknown field',
    })
  })
})
