import { generateKeyPair, webcrypto } from 'node:crypto'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { MediaType, Message } from '../../../src/core/messages/message.ts'
import type { ReceiptRequest } from '../../../src/core/receipts/receipt.ts'
import { parseNetwork } from '../../../src/core/requests/public-address.ts'
import { sendIssue } from '../../../src/core/sends/send-issue.ts'
import type { Delivery } from '../../../src/providers/delivery.ts'
import type { EmulatedAnswer } from '../../../src/providers/shared/dev/http-emulator.ts'
import { vonageCodes } from '../../../src/providers/vonage/codes.ts'
import type { VonageConfig } from '../../../src/providers/vonage/config.ts'
import {
  openVonageEmulator,
  type VonageEmulator,
  vonageError,
} from '../../../src/providers/vonage/dev/emulator.ts'
import { statusReport } from '../../../src/providers/vonage/dev/reports.ts'
import { vonage as rules, vonage } from '../../../src/providers/vonage/index.ts'
import { vonageReceipts } from '../../../src/providers/vonage/receipts.ts'
import { createHttpClient } from '../../../workers/http/http.ts'
import { buildDelivery } from '../../support/deliveries.ts'
import { httpSender } from '../../support/http-sender.ts'
import { describeProvider, type FakeServer } from './contract.ts'
import { aRequestId, contactPhone, describeReceipts } from './receipts-contract.ts'

const loopback = [parseNetwork('127.0.0.0/8')]
const linkTo = (requestId: string) => `https://messages.example.com/media/${requestId}.1.signature`
const good = { via: 'whatsapp', from: '+15550100100', apiKey: 'a1b2c3d4', apiSecret: 's3cret-of-the-key' }
const definition = { language: 'de', parameters: ['name'] }

const fakeServers: Record<FakeServer, EmulatedAnswer[]> = {
  accept: [],
  reject: [vonageError(422, 1040, 'Invalid message: +4915112345678')],
  fail_for_a_while: [vonageError(500, 1030, 'Internal error')],
  limit_rate: [{ ...vonageError(429, 1000, 'Throttled'), headers: { 'retry-after': '2' } }],
  drop_after_taking: ['drop'],
  never_answer: ['never_answer'],
}

describeProvider('vonage', async () => {
  const emulator = await openVonageEmulator()
  const http = createHttpClient({ allowedPrivateNetworks: loopback })
  return {
    provider: httpSender(rules, http, { mediaLink: linkTo }),
    goodConfig: good,
    badConfig: { ...good, via: 'mms' },
    templates: [
      definition,
      { language: 'pt_BR', parameters: ['a', 'b', 'a'] },
      { language: 'en', parameters: [] },
    ],
    async arrange(behaviour, delivery) {
      emulator.answerNext(...fakeServers[behaviour])
      const { message } = delivery
      const registered: Message =
        message.type === 'template'
          ? { type: 'template', template: { definition, ...message.template } }
          : message
      return { ...delivery, message: registered, config: rules.config.parse(emulator.config) }
    },
    taken: async (requestId) => emulator.calls.filter(({ message }) => message?.client_ref === requestId),
    async stop() {
      await emulator.stop()
      await http.close()
    },
  }
})

let emulator: VonageEmulator
let http: ReturnType<typeof createHttpClient>
beforeAll(async () => {
  emulator = await openVonageEmulator()
  http = createHttpClient({ allowedPrivateNetworks: loopback })
})
afterAll(async () => {
  await emulator.stop()
  await http.close()
})

async function send(parts: Partial<Delivery<unknown>> = {}, changes: object = {}) {
  const before = emulator.calls.length
  const config: VonageConfig = rules.config.parse({ ...emulator.config, ...changes })
  const delivery = { ...buildDelivery(rules, config, parts), config }
  const outcome = await httpSender(rules, http, { mediaLink: linkTo }).send(
    delivery,
    AbortSignal.timeout(100_000),
  )
  return { outcome, delivery, calls: emulator.calls.slice(before) }
}

const byApplication = () => ({ apiKey: null, apiSecret: null, ...emulator.application })

describe('a config', () => {
  const { apiKey: _, apiSecret: __, ...without } = good
  const application = () => ({ ...without, ...emulator.application })

  test.each<[string, () => object]>([
    ['an API key', () => good],
    ['an application', application],
    ['SMS by a name', () => ({ ...good, via: 'sms', from: 'Acme Shop' })],
    ['SMS by a short code', () => ({ ...good, via: 'sms', from: '12345' })],
    ['null for what is absent', () => ({ ...application(), apiKey: null, apiSecret: null })],
  ])('is taken with %s, and reads the same after it was stored', (_, config) => {
    const parsed = rules.config.parse(config())
    expect(rules.config.parse(JSON.parse(JSON.stringify(parsed)))).toEqual(parsed)
    expect(parsed.baseUrl).toBe('https://api.nexmo.com')
  })

  test.each<[string, () => object, string[]]>([
    ['no way', () => ({ ...good, via: undefined }), ['via']],
    ['another way', () => ({ ...good, via: 'mms' }), ['via']],
    ['no sender', () => ({ ...good, from: undefined }), ['from']],
    ['a name for WhatsApp', () => ({ ...good, from: 'Acme' }), ['from']],
    ['a name that is too long', () => ({ ...good, via: 'sms', from: 'Acme Shop and Co' }), ['from']],
    ['no login', () => without, ['apiKey']],
    ['a key without its secret', () => ({ ...good, apiSecret: undefined }), ['apiSecret']],
    ['a secret without its key', () => ({ ...good, apiKey: undefined }), ['apiKey']],
    ['an application without its key', () => ({ ...application(), privateKey: undefined }), ['privateKey']],
    ['a key without its application', () => ({ ...application(), applicationId: null }), ['applicationId']],
    ['two logins', () => ({ ...good, ...emulator.application }), ['apiKey']],
    ['an application that is no id', () => ({ ...application(), applicationId: 'x' }), ['applicationId']],
    ['a private key that is none', () => ({ ...application(), privateKey: 'x' }), ['privateKey']],
    ['an unknown field', () => ({ ...good, sender: 'x' }), []],
  ])('is refused, and its one fault named: %s', (_, config, path) => {
    const issues = rules.config.safeParse(config()).error?.issues
    expect(issues).toMatchObject([{ path }])
    expect(JSON.stringify(issues)).not.toContain(good.apiSecret)
  })
})

describe('a channel by WhatsApp', () => {
  const contact = { type: 'phone', value: '+4915112345678' } as const
  const issueOf = (mediaType: MediaType, fields: object) =>
    sendIssue(rules, {
      contact,
      message: { type: 'media', media: { mediaType, mediaUrl: 'https://example.com/a', ...fields } },
      hasPublicUrl: true,
    })

  test.each<[MediaType, object, RegExp]>([
    ['image', { mimetype: 'image/gif' }, /^message\.media\.mimetype: /],
    ['image', { mimetype: 'image/png', sizeBytes: 5 * 1024 * 1024 + 1 }, /^message\.media\.base64: /],
    ['video', { mimetype: 'video/webm' }, /^message\.media\.mimetype: /],
    ['audio', { mimetype: 'audio/wav' }, /^message\.media\.mimetype: /],
    ['audio', { caption: 'Listen' }, /^message\.media\.caption: /],
  ])('refuses %s with %o at the accept', (mediaType, fields, issue) => {
    expect(issueOf(mediaType, fields)).toMatch(issue)
  })

  test.each<[MediaType, object]>([
    ['image', { mimetype: 'image/png', sizeBytes: 5 * 1024 * 1024 }],
    ['video', { mimetype: 'video/mp4', caption: 'See' }],
    ['audio', { mimetype: 'audio/ogg; codecs=opus' }],
    ['document', { mimetype: 'application/zip', caption: 'Read', sizeBytes: 16 * 1024 * 1024 }],
  ])('accepts %s with %o', (mediaType, fields) => {
    expect(issueOf(mediaType, fields)).toBeUndefined()
  })
})

describe('a channel by SMS', () => {
  const limited = () => ({ ...rules, ...rules.limitsOf?.(rules.config.parse({ ...good, via: 'sms' })) })
  const contact = { type: 'phone', value: '+4915112345678' } as const
  const issueOf = (message: Message) => sendIssue(limited(), { contact, message, hasPublicUrl: true })
  const text = (length: number): Message => ({ type: 'text', text: { value: 'x'.repeat(length) } })

  test('accepts texts of 1000 characters, and nothing else', () => {
    expect(issueOf(text(1000))).toBeUndefined()
    expect(issueOf(text(1001))).toMatch(/^message\.text\.value: at most 1000/)
    const media = { mediaType: 'image', mediaUrl: 'https://example.com/a' } as const
    expect(issueOf({ type: 'media', media })).toMatch(/^message\.type: /)
    expect(issueOf({ type: 'template', template: { name: 'x', variables: [] } })).toMatch(/^message\.type: /)
  })

  test('gets what the emulator accepts', async () => {
    for (const [from, sender] of [
      ['+15550100100', '15550100100'],
      ['Acme Shop', 'Acme Shop'],
    ]) {
      const { outcome, delivery, calls } = await send({ message: text(1000) }, { via: 'sms', from })
      expect(outcome.outcome).toBe('sent')
      expect(calls[0]?.message).toEqual({
        channel: 'sms',
        message_type: 'text',
        to: '4915112345678',
        from: sender,
        client_ref: delivery.requestId,
        text: 'x'.repeat(1000),
      })
    }
  })
})

const mediaUrl = 'https://example.com/file'
const media = (mediaType: string, fields: object = {}) =>
  ({ type: 'media', media: { mediaType, mediaUrl, caption: 'See', filename: 'a.bin', ...fields } }) as Message

test.each<[string, Partial<Delivery<unknown>>, object | ((requestId: string) => object)]>([
  [
    'a text',
    { message: { type: 'text', text: { value: 'Grüße 👋' } } },
    { message_type: 'text', text: 'Grüße 👋' },
  ],
  [
    'an image',
    { message: media('image') },
    { message_type: 'image', image: { url: mediaUrl, caption: 'See' } },
  ],
  [
    'a video',
    { message: media('video') },
    { message_type: 'video', video: { url: mediaUrl, caption: 'See' } },
  ],
  [
    'an audio',
    { message: media('audio', { caption: '' }) },
    { message_type: 'audio', audio: { url: mediaUrl } },
  ],
  [
    'a document',
    { message: media('document') },
    { message_type: 'file', file: { url: mediaUrl, caption: 'See', name: 'a.bin' } },
  ],
  [
    'base64, by a link to this service',
    { message: media('image', { sizeBytes: 5 }), mediaContent: Buffer.from('Hello') },
    (requestId: string) => ({ message_type: 'image', image: { url: linkTo(requestId), caption: 'See' } }),
  ],
  [
    'a template',
    {
      message: {
        type: 'template',
        template: {
          name: 'order_shipped',
          definition: { language: 'de', parameters: ['name', 'code', 'name'] },
          variables: [
            { key: 'code', value: '1234' },
            { key: 'name', value: 'Ann' },
          ],
        },
      },
    },
    {
      message_type: 'template',
      template: { name: 'order_shipped', parameters: ['Ann', '1234', 'Ann'] },
      whatsapp: { policy: 'deterministic', locale: 'de' },
    },
  ],
])('Vonage gets one request by WhatsApp, and takes it: %s', async (_, parts, content) => {
  const { outcome, delivery, calls } = await send(parts)
  expect(calls).toMatchObject([
    {
      method: 'POST',
      path: '/v1/messages',
      headers: {
        authorization: `Basic ${Buffer.from(`${emulator.config.apiKey}:${emulator.config.apiSecret}`).toString('base64')}`,
        'content-type': 'application/json',
      },
    },
  ])
  expect(calls[0]?.message).toEqual({
    channel: 'whatsapp',
    to: '4915112345678',
    from: '15550100100',
    client_ref: delivery.requestId,
    ...(typeof content === 'function' ? content(delivery.requestId) : content),
  })
  expect(outcome).toEqual({
    outcome: 'sent',
    providerMessageId: expect.stringMatching(/^[0-9a-f-]{36}$/),
    providerStatus: 202,
  })
})

describe('an application', () => {
  test('logs in by a token, which Vonage accepts', async () => {
    const { outcome, calls } = await send({}, byApplication())
    expect(calls[0]?.headers.authorization).toMatch(/^Bearer eyJ/)
    expect(outcome.outcome).toBe('sent')
  })

  test('has one token for ten minutes, by the clock of PostgreSQL, and then another', async () => {
    let now = Date.now()
    const config = rules.config.parse({ ...emulator.config, ...byApplication() })
    const provider = httpSender(rules, http, { mediaLink: linkTo, nowMs: () => now })
    const tokenAt = async (minutes: number) => {
      now = Date.now() + minutes * 60_000
      const delivery = { ...buildDelivery(rules, config), config }
      await provider.send(delivery, AbortSignal.timeout(100_000))
      return emulator.calls.at(-1)?.headers.authorization
    }
    const first = await tokenAt(0)
    expect(await tokenAt(9)).toBe(first)
    const second = await tokenAt(11)
    expect(second).not.toBe(first)
    const claims = JSON.parse(Buffer.from(second?.split('.')[1] ?? '', 'base64url').toString())
    expect(claims.exp - claims.iat).toBe(900)
    expect(claims.iat).toBe(Math.floor(now / 1000))
  })

  test('with another private key is refused', async () => {
    const other = await promisify(generateKeyPair)('rsa', { modulusLength: 2048 })
    const privateKey = other.privateKey.export({ type: 'pkcs8', format: 'pem' })
    const { outcome } = await send({}, { ...byApplication(), privateKey })
    expect(outcome).toMatchObject({
      outcome: 'channel_refused',
      fault: 'sender',
      providerStatus: 401,
      providerCode: 'unauthorized',
    })
  })
})

test.each(Object.entries(vonageCodes))(
  'code %s decides, whatever the status',
  async (code, { outcome, fault }) => {
    for (const status of [400, 401, 422, 429, 500]) {
      emulator.answerNext(
        vonageError(status, /^\d/.test(code) ? Number(code) : code, 'Title of +4915112345678'),
      )
      const { outcome: result } = await send()
      expect(result).toMatchObject({ outcome, fault, providerStatus: status, providerCode: code })
      expect(JSON.stringify(result)).not.toContain('4915112345678')
    }
  },
)

test.each([
  [302, 'rejected'],
  [400, 'rejected'],
  [401, 'channel_refused'],
  [402, 'channel_refused'],
  [403, 'channel_refused'],
  [404, 'rejected'],
  [422, 'rejected'],
  [429, 'retry_later'],
  [500, 'retry_later'],
  [503, 'retry_later'],
])('an answer %i with another code, or none, is %s by its status', async (status, expected) => {
  const bodies = ['', 'null', '<html>', '{"type":7}', '{"type":"https://x/#a/b"}', '{"type":"#constructor"}']
  for (const answer of [vonageError(status, 1999, 'New'), ...bodies.map((body) => ({ status, body }))]) {
    emulator.answerNext(answer)
    const { outcome } = await send()
    expect(outcome).toMatchObject({ outcome: expected, providerStatus: status })
  }
})

test("a refusal of the channel has Vonage's words, without the credentials", async () => {
  emulator.answerNext(vonageError(401, 'unauthorized', `Bad secret ${good.apiSecret} of the key`))
  const { outcome } = await send({}, { apiSecret: good.apiSecret })
  const printed = JSON.stringify(outcome)
  expect(printed).toContain('of the key')
  expect(printed).not.toContain(good.apiSecret)
})

test.each([
  ['no id', '{}'],
  ['what is no JSON', 'accepted'],
])('a 202 with %s is sent', async (_, body) => {
  emulator.answerNext({ status: 202, body })
  expect((await send()).outcome).toEqual({ outcome: 'sent', providerStatus: 202 })
})

describe('its receipts', () => {
  const signatureSecret = 'aB3'.repeat(20)
  const config = { via: 'sms', from: 'Acme', apiKey: 'a1b2c3d4', apiSecret: 'secret', signatureSecret }
  const parsedConfig = vonage.config.parse(config)
  const nowMs = Date.parse('2026-11-23T14:00:00Z')
  const message = { to: contactPhone.slice(1), from: 'Acme', channel: 'sms', client_ref: aRequestId }
  const taken = { id: 'aaaaaaaa-bbbb-4ccc-8ddd-0123456789ab', message }

  interface Token {
    head?: object
    claims?: object
    key?: string
  }

  /** Signed by another implementation: WebCrypto. */
  async function signed(
    body: string,
    { head, claims, key = signatureSecret }: Token = {},
  ): Promise<ReceiptRequest> {
    const hash = await webcrypto.subtle.digest('SHA-256', Buffer.from(body))
    const all = {
      iat: nowMs / 1000,
      jti: 'a9ff7cfe-5fb5-4e89-b8b4-9f8b2f1b0b6e',
      iss: 'Vonage',
      payload_hash: Buffer.from(hash).toString('hex'),
      api_key: config.apiKey,
      ...claims,
    }
    const text = [{ alg: 'HS256', typ: 'JWT', ...head }, all]
      .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
      .join('.')
    const algorithm = { name: 'HMAC', hash: 'SHA-256' }
    const bytes = Buffer.from(key)
    const hmac = await webcrypto.subtle.importKey('raw', bytes, algorithm, false, ['sign'])
    const signature = Buffer.from(await webcrypto.subtle.sign('HMAC', hmac, Buffer.from(text)))
    return {
      headers: {
        'content-type': 'application/json',
        authorization: `Bearer ${text}.${signature.toString('base64url')}`,
      },
      target: '/receipts/1',
      body: Buffer.from(body),
      publicBaseUrl: undefined,
      nowMs,
    }
  }

  const error = (type: string, title: unknown) => ({
    error: { type, title, detail: `Not delivered to ${contactPhone}`, instance: 'bf0ca0bf' },
  })
  const codePage = 'https://developer.vonage.com/api-errors/messages'
  const statusOf = (requestId: string, status: string, more: object = {}) =>
    statusReport(
      { url: '', signatureSecret },
      status,
      { ...taken, message: { ...message, client_ref: requestId } },
      more,
    ).body

  describeReceipts('vonage', {
    config,
    otherConfig: { ...config, signatureSecret: 'xY9'.repeat(20) },
    offConfig: { ...config, signatureSecret: undefined },
    words: {
      submitted: 'accepted',
      delivered: 'delivered',
      read: 'read',
      rejected: 'undelivered',
      undeliverable: 'undelivered',
    },
    request: (requestId, status) =>
      signed(statusOf(requestId, status, status === 'rejected' ? error(`${codePage}#1300`, 1300) : {})),
    unexpected: {
      'an inbound message': () => signed('{"message_uuid":"x","message_type":"text","text":"Hi"}'),
      'an unknown status': () => signed(statusOf(aRequestId, 'teleported')),
      'a status that every object has': () => signed(statusOf(aRequestId, 'constructor')),
      'a list': () => signed('[]'),
    },
    unreadable: {
      'no JSON': () => signed('status=delivered'),
      null: () => signed('null'),
    },
    sign: (request) => request,
  })

  test.each<[string, unknown, string | null]>([
    [`${codePage}#1300`, '1300', '1300'],
    [`${codePage}#1300`, 'Not part of the provider network', '1300'],
    [`${codePage}#rejected`, '1330', '1330'],
    [`${codePage}#rejected`, 1330, '1330'],
    [`${codePage}#rejected`, 'Rejected', 'rejected'],
    ['https://developer.vonage.com/api-errors', 'Rejected', null],
    [`${codePage}#${contactPhone.slice(1)}`, 'Rejected', null],
    [`${codePage}#to-4915112345678`, contactPhone, null],
    [{ toString: 1 } as unknown as string, { toString: 1 }, null],
    [codePage, `Not delivered to ${contactPhone}`, null],
  ])('the code of an error of the type %s, titled %s, is %s', async (type, title, providerCode) => {
    const body = statusOf(aRequestId, 'rejected', error(type, title))
    expect(await vonageReceipts.read(await signed(body), parsedConfig)).toEqual({
      receipts: [
        {
          requestId: aRequestId,
          kind: 'undelivered',
          providerStatus: 'rejected',
          providerAt: JSON.parse(body).timestamp,
          providerCode,
          providerMessageId: taken.id,
          reason: vonage.meaningOf({ providerCode: providerCode ?? '' }) ?? 'Vonage could not deliver it',
        },
      ],
      unexpected: 0,
      unreadable: 0,
    })
  })

  test('a status with a price has the cost, and one of an SMS its parts; others have none', async () => {
    const costWith = async (more: object) => {
      const read = await vonageReceipts.read(
        await signed(statusOf(aRequestId, 'submitted', more)),
        parsedConfig,
      )
      return 'receipts' in read ? read.receipts[0]?.cost : read
    }
    const usage = { price: '0.0333', currency: 'EUR' }
    expect(await costWith({ usage, sms: { count_total: '2' } })).toEqual({
      ...{ amount: '0.0333', currency: 'EUR', parts: 2 },
    })
    expect(await costWith({ usage })).toEqual({ amount: '0.0333', currency: 'EUR', parts: null })
    for (const more of [{}, { usage: 'free', sms: [] }, { usage: { price: '', currency: null } }])
      expect(await costWith(more)).toBeUndefined()
  })

  const isProven = async (token: Token) =>
    vonageReceipts.isProven(await signed(statusOf(aRequestId, 'delivered'), token), parsedConfig)

  test.each<[string, Token, boolean]>([
    ['a day old: Vonage repeats a callback for so long', { claims: { iat: nowMs / 1000 - 24 * 3600 } }, true],
    ['older', { claims: { iat: nowMs / 1000 - 26 * 3600 } }, false],
    ['5 minutes ahead', { claims: { iat: nowMs / 1000 + 300 } }, true],
    ['further ahead', { claims: { iat: nowMs / 1000 + 301 } }, false],
    ['without a time', { claims: { iat: undefined } }, false],
    ['without the hash of the body', { claims: { payload_hash: undefined } }, false],
    ['for another body', { claims: { payload_hash: '00'.repeat(32) } }, false],
    ['signed with another algorithm', { head: { alg: 'none' } }, false],
    ['signed with an empty secret', { key: '\0' }, false],
  ])('a token %s', async (_, token, expected) => {
    expect(await isProven(token)).toBe(expected)
  })

  test('the header is read in any case, and nothing else proves a request', async () => {
    const request = await signed(statusOf(aRequestId, 'delivered'))
    const { authorization = '' } = request.headers
    const given = (value: string) =>
      vonageReceipts.isProven({ ...request, headers: { authorization: value } }, parsedConfig)
    const token = String(authorization).slice('Bearer '.length)
    expect(given(`bearer ${token}`)).toBe(true)
    for (const value of [
      token,
      `Bearer ${token.split('.').slice(0, 2).join('.')}.`,
      'Bearer ..',
      'Bearer a.b.c',
    ]) {
      expect(given(value)).toBe(false)
    }
  })
})
