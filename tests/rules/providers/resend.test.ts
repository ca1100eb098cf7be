import { randomUUID } from 'node:crypto'
import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Message } from '../../../src/core/messages/message.ts'
import type { ReadReceipts, ReceiptRequest } from '../../../src/core/receipts/receipt.ts'
import { parseNetwork } from '../../../src/core/requests/public-address.ts'
import { sendIssue } from '../../../src/core/sends/send-issue.ts'
import type { Delivery } from '../../../src/providers/delivery.ts'
import { resendCodes } from '../../../src/providers/resend/codes.ts'
import type { ResendConfig } from '../../../src/providers/resend/config.ts'
import {
  openResendEmulator,
  type ResendCall,
  resendError,
} from '../../../src/providers/resend/dev/emulator.ts'
import { eventReport } from '../../../src/providers/resend/dev/reports.ts'
import { resend, resend as rules } from '../../../src/providers/resend/index.ts'
import { resendReceipts } from '../../../src/providers/resend/receipts.ts'
import type { Emulator } from '../../../src/providers/shared/dev/emulator.ts'
import type { EmulatedAnswer } from '../../../src/providers/shared/dev/http-emulator.ts'
import { createHttpClient } from '../../../workers/http/http.ts'
import { buildDelivery } from '../../support/deliveries.ts'
import { httpSender } from '../../support/http-sender.ts'
import { describeProvider, type FakeServer } from './contract.ts'
import { aRequestId, contactMail, describeReceipts } from './receipts-contract.ts'

const loopback = [parseNetwork('127.0.0.0/8')]
const good = { apiKey: 're_s3cret', from: 'Acme <hello@example.com>' }
const definition = { subject: 'Hi {{name}}', text: 'Dear {{name}}', html: '<b>{{name}}</b>' }

const fakeServers: Record<FakeServer, EmulatedAnswer[]> = {
  accept: [],
  reject: [resendError(422, 'validation_error', 'Invalid `to` field: ann@example.com')],
  fail_for_a_while: [resendError(500, 'internal_server_error', 'An unexpected error occurred')],
  limit_rate: [{ ...resendError(429, 'rate_limit_exceeded', 'Too many'), headers: { 'retry-after': '2' } }],
  drop_after_taking: ['drop'],
  never_answer: ['never_answer'],
}

describeProvider('resend', async () => {
  const emulator = await openResendEmulator()
  const http = createHttpClient({ allowedPrivateNetworks: loopback })
  return {
    provider: httpSender(rules, http),
    goodConfig: good,
    badConfig: { ...good, from: 'Acme' },
    templates: [definition, { subject: '{{name}}', html: '<p>{{name}}</p>' }],
    async arrange(behaviour, delivery) {
      emulator.answerNext(...fakeServers[behaviour])
      const { message } = delivery
      const registered: Message =
        message.type === 'template'
          ? { type: 'template', template: { definition, ...message.template } }
          : message
      return { ...delivery, message: registered, config: rules.config.parse(emulator.config) }
    },
    taken: async (requestId) =>
      emulator.calls.filter(({ headers }) => headers['idempotency-key'] === requestId),
    async stop() {
      await emulator.stop()
      await http.close()
    },
  }
})

let emulator: Emulator<ResendCall, EmulatedAnswer>
let http: ReturnType<typeof createHttpClient>
beforeAll(async () => {
  emulator = await openResendEmulator()
  http = createHttpClient({ allowedPrivateNetworks: loopback })
})
afterAll(async () => {
  await emulator.stop()
  await http.close()
})

async function send(parts: Partial<Delivery<unknown>> = {}, changes: object = {}) {
  const before = emulator.calls.length
  const config: ResendConfig = rules.config.parse({ ...emulator.config, ...changes })
  const delivery = { ...buildDelivery(rules, config, parts), config }
  const outcome = await httpSender(rules, http).send(delivery, AbortSignal.timeout(100_000))
  return { outcome, delivery, calls: emulator.calls.slice(before) }
}

describe('a config', () => {
  test('has defaults', () => {
    expect(rules.config.parse(good)).toEqual({
      ...good,
      subject: 'Message',
      baseUrl: 'https://api.resend.com',
    })
  })

  test.each<[string, object, string[]]>([
    ['no key', { ...good, apiKey: undefined }, ['apiKey']],
    ['a key with a line break', { ...good, apiKey: 'a\nb' }, ['apiKey']],
    ['no from', { ...good, from: undefined }, ['from']],
    ['a from without an address', { ...good, from: 'Acme' }, ['from']],
    ['a subject of two lines', { ...good, subject: 'a\nb' }, ['subject']],
    ['a webhookSecret that is none', { ...good, webhookSecret: 're_secret' }, ['webhookSecret']],
    ['a replyTo that is no address', { ...good, replyTo: 'x' }, ['replyTo']],
    ['a header of its own', { ...good, headers: { Subject: 'x' } }, ['headers', 'Subject']],
    ['an unknown field', { ...good, to: 'x' }, []],
  ])('is refused, and its one fault named: %s', (_, config, path) => {
    expect(rules.config.safeParse(config).error?.issues).toMatchObject([{ path }])
  })
})

const base64 = (text: string) => Buffer.from(text).toString('base64')
const media = (fields: object): Message =>
  ({ type: 'media', media: { mediaType: 'document', ...fields } }) as Message

test.each<[string, Partial<Delivery<unknown>>, object]>([
  [
    'a text',
    { message: { type: 'text', text: { value: 'Grüße "attachments":[{"content":""' } } },
    { text: 'Grüße "attachments":[{"content":""' },
  ],
  [
    'a template',
    {
      message: {
        type: 'template',
        template: { name: 'x', definition, variables: [{ key: 'name', value: 'Ann & <Bo>' }] },
      },
    },
    { subject: 'Hi Ann & <Bo>', text: 'Dear Ann & <Bo>', html: '<b>Ann &amp; &lt;Bo&gt;</b>' },
  ],
  [
    'a document, with a caption that looks like the place of its content',
    {
      message: media({
        mimetype: 'text/plain',
        filename: 'a.txt',
        caption: '"attachments":[{"content":""',
        sizeBytes: 5,
      }),
      mediaContent: Buffer.from('Hello'),
    },
    {
      text: '"attachments":[{"content":""',
      attachments: [{ content: base64('Hello'), filename: 'a.txt', content_type: 'text/plain' }],
    },
  ],
  [
    'a link, which Resend fetches',
    { message: media({ mediaType: 'image', mediaUrl: 'https://example.com/a', mimetype: 'image/png' }) },
    {
      text: 'image.png',
      attachments: [{ path: 'https://example.com/a', filename: 'image.png', content_type: 'image/png' }],
    },
  ],
])('Resend gets one request, and takes it: %s', async (_, parts, content) => {
  const { outcome, delivery, calls } = await send(parts)
  expect(calls).toMatchObject([
    {
      method: 'POST',
      path: '/emails',
      headers: {
        authorization: `Bearer ${emulator.config.apiKey}`,
        'content-type': 'application/json',
        'idempotency-key': delivery.requestId,
      },
    },
  ])
  expect(calls[0]?.mail).toEqual({
    from: 'Outbound <outbound@example.org>',
    to: ['ann@example.com'],
    subject: 'Message',
    headers: { 'Auto-Submitted': 'auto-generated' },
    tags: [{ name: 'requestId', value: delivery.requestId }],
    ...content,
  })
  expect(outcome).toEqual({
    outcome: 'sent',
    providerMessageId: expect.stringMatching(/^[0-9a-f-]{36}$/),
    providerStatus: 200,
  })
})

test("the channel's subject, replyTo and headers, with what the send has for them", async () => {
  const { delivery, calls } = await send(
    { contact: { type: 'email', value: 'ann@example.com', name: 'Ann' } },
    {
      subject: 'News for {{contact.name}}',
      replyTo: 'Help <help@example.com>',
      headers: { 'List-Unsubscribe': '<https://example.com/u/{requestId}>', 'Auto-Submitted': 'no' },
    },
  )
  expect(calls[0]?.mail).toMatchObject({
    subject: 'News for Ann',
    reply_to: 'Help <help@example.com>',
    headers: {
      'List-Unsubscribe': `<https://example.com/u/${delivery.requestId}>`,
      'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
      'Auto-Submitted': 'no',
    },
  })
})

test('content of 16 MiB comes whole', async () => {
  const mediaContent = Buffer.alloc(16 * 1024 * 1024, 'large')
  const { outcome, calls } = await send({
    message: media({ sizeBytes: mediaContent.length }),
    mediaContent,
  })
  expect(outcome.outcome).toBe('sent')
  const [{ content = '' } = {}] = (calls[0]?.mail?.attachments ?? []) as { content?: string }[]
  expect(Buffer.from(content, 'base64').equals(mediaContent)).toBe(true)
})

describe('a file', () => {
  const contact = { type: 'email', value: 'ann@example.com' } as const
  const issueOf = (filename: string) =>
    sendIssue(rules, { contact, message: media({ filename, sizeBytes: 5 }), hasPublicUrl: false })

  test.each(['setup.exe', 'a.b.JS', '.ps1', 'odd.xnk'])('named %s is refused at the accept', (filename) => {
    expect(issueOf(filename)).toBe('message.media.filename: this channel takes no files with this extension')
  })

  test.each(['exe', 'setup.exe.txt', 'a.json', 'a.'])('named %s is accepted', (filename) => {
    expect(issueOf(filename)).toBeUndefined()
  })

  test('without a name gets one that Resend takes, whatever its type', async () => {
    const message = media({ mimetype: 'application/javascript', sizeBytes: 5 })
    const { outcome, calls } = await send({ message, mediaContent: Buffer.from('Hello') })
    expect(outcome.outcome).toBe('sent')
    expect(calls[0]?.mail?.attachments).toMatchObject([{ filename: 'document.bin' }])
  })
})

describe('a repeat', () => {
  test('of the same send is one mail, with the same id', async () => {
    const first = await send()
    const again = await send({ requestId: first.delivery.requestId })
    expect(again.outcome).toEqual(first.outcome)
  })

  test('with other content is uncertain: an earlier attempt has got through', async () => {
    const { delivery } = await send()
    const { outcome } = await send({ requestId: delivery.requestId }, { subject: 'Other' })
    expect(outcome).toMatchObject({
      outcome: 'uncertain',
      providerStatus: 409,
      providerCode: 'invalid_idempotent_request',
    })
  })
})

test.each(Object.entries(resendCodes).filter(([name]) => name !== 'invalid_idempotent_request'))(
  '%s decides, whatever the status',
  async (name, { outcome, fault }) => {
    for (const status of [400, 401, 403, 409, 422, 429]) {
      emulator.answerNext(resendError(status, name, 'About ann@example.com'))
      const { outcome: result } = await send()
      expect(result).toMatchObject({ outcome, fault, providerStatus: status, providerCode: name })
      expect(JSON.stringify(result)).not.toContain('ann@example.com')
    }
  },
)

test.each([
  [302, 'rejected'],
  [400, 'rejected'],
  [401, 'channel_refused'],
  [403, 'channel_refused'],
  [404, 'rejected'],
  [422, 'rejected'],
  [429, 'retry_later'],
  [500, 'retry_later'],
])('an answer %i with a name that goes by the status, or none, is %s', async (status, expected) => {
  const bodies = ['', 'null', '<html>', '{"name":7}', '{"name":"A name"}', '{"name":"constructor"}']
  for (const answer of [
    resendError(status, 'validation_error', 'x'),
    ...bodies.map((body) => ({ status, body })),
  ]) {
    emulator.answerNext(answer)
    expect((await send()).outcome).toMatchObject({ outcome: expected, providerStatus: status })
  }
})

test('a used-up quota is tried again after an hour', async () => {
  emulator.answerNext(resendError(429, 'daily_quota_exceeded', 'You have reached your daily quota'))
  expect((await send()).outcome).toMatchObject({ outcome: 'retry_later', retryAfterMs: 3_600_000 })
})

test("a refusal of the channel has Resend's words, without the key and addresses", async () => {
  emulator.answerNext(
    resendError(403, 'validation_error', 're_s3cret: verify ann@example.com at the dashboard'),
  )
  const { outcome } = await send({}, { apiKey: 're_s3cret' })
  expect(outcome).toMatchObject({
    outcome: 'channel_refused',
    reason: expect.stringMatching(/verify … at the dashboard$/),
  })
  expect(JSON.stringify(outcome)).not.toContain('s3cret')
})

describe('its receipts', () => {
  const webhookSecret = `whsec_${Buffer.alloc(24, 1).toString('base64')}`
  const config = { apiKey: 're_key', from: 'Acme <hello@example.org>', webhookSecret }
  const parsedConfig = resend.config.parse(config)
  const nowMs = Date.parse('2026-11-23T14:00:00Z')
  const mail = {
    id: '56761188-7520-42d8-8898-ff6fc54ce618',
    mail: { from: config.from, to: [contactMail], subject: 'Hello' },
  }

  /** Signed by the library of Standard Webhooks, whose rules Svix follows. */
  function signed(body: string, atMs = nowMs): ReceiptRequest {
    const id = `msg_${randomUUID()}`
    const at = new Date(atMs)
    return {
      headers: {
        'content-type': 'application/json',
        'svix-id': id,
        'svix-timestamp': String(Math.floor(atMs / 1000)),
        'svix-signature': new Webhook(webhookSecret).sign(id, at, body),
      },
      target: '/receipts/1',
      body: Buffer.from(body),
      publicBaseUrl: undefined,
      nowMs,
    }
  }

  /** As Resend writes it, but for the signature. */
  function eventOf(requestId: string, type: string, more: object = {}): string {
    const taken = { ...mail, mail: { ...mail.mail, tags: [{ name: 'requestId', value: requestId }] } }
    return eventReport({ url: '', secret: webhookSecret }, type, taken, more).body
  }

  const bounce = { message: `${contactMail} is unknown`, subType: 'General', type: 'Permanent' }

  describeReceipts('resend', {
    config,
    otherConfig: { ...config, webhookSecret: `whsec_${Buffer.alloc(24, 2).toString('base64')}` },
    offConfig: { ...config, webhookSecret: undefined },
    words: {
      'email.sent': 'accepted',
      'email.delivery_delayed': 'accepted',
      'email.delivered': 'delivered',
      'email.bounced': 'undelivered',
      'email.failed': 'undelivered',
      'email.suppressed': 'undelivered',
      'email.complained': 'complained',
    },
    request: async (requestId, type) =>
      signed(eventOf(requestId, type, type === 'email.bounced' ? { bounce } : {})),
    unexpected: {
      'an open': async () => signed(eventOf(aRequestId, 'email.opened')),
      'an inbound mail': async () => signed('{"type":"email.received","data":{}}'),
      'an event of a domain': async () => signed('{"type":"domain.created","data":{}}'),
      'an event of another form': async () => signed('[]'),
      'a type that every object has': async () => signed('{"type":"constructor"}'),
    },
    unreadable: {
      'no JSON': async () => signed('type=email.sent'),
      null: async () => signed('null'),
    },
    sign: (request) => request,
  })

  test('a bounce has its type, the time of the event, and no words of the server', async () => {
    const body = eventOf(aRequestId, 'email.bounced', { bounce })
    const { created_at } = JSON.parse(body)
    expect(await resendReceipts.read(signed(body), parsedConfig)).toEqual({
      receipts: [
        {
          requestId: aRequestId,
          kind: 'undelivered',
          providerStatus: 'email.bounced',
          providerAt: created_at,
          providerCode: 'Permanent',
          providerMessageId: mail.id,
          reason: "the recipient's server refused the mail",
        },
      ],
      unexpected: 0,
      unreadable: 0,
    })
  })

  test('an event of a mail that was not sent by this service has no requestId', async () => {
    for (const body of [
      eventReport({ url: '', secret: webhookSecret }, 'email.sent', mail).body,
      '{"type":"email.sent"}',
    ]) {
      const read = await resendReceipts.read(signed(body), parsedConfig)
      expect(read).toMatchObject({ receipts: [{ requestId: '' }] })
    }
  })

  test.each([
    ['5 minutes old', -5 * 60_000, true],
    ['older', -5 * 60_000 - 1000, false],
    ['further ahead', 5 * 60_000 + 1000, false],
  ])('a request that is %s: proven is %s', (_, offMs, expected) => {
    const request = signed(eventOf(aRequestId, 'email.sent'), nowMs + Number(offMs))
    expect(resendReceipts.isProven(request, parsedConfig)).toBe(expected)
  })

  test('the headers of Standard Webhooks prove nothing: Resend has its own', () => {
    const request = signed(eventOf(aRequestId, 'email.sent'))
    const renamed = Object.entries(request.headers).map(([name, value]) => [
      name.replace('svix', 'webhook'),
      value,
    ])
    expect(resendReceipts.isProven({ ...request, headers: Object.fromEntries(renamed) }, parsedConfig)).toBe(
      false,
    )
  })

  test('a transient bounce is recorded only: Resend goes on trying', async () => {
    const body = eventOf(aRequestId, 'email.bounced', { bounce: { ...bounce, type: 'Transient' } })
    const { receipts } = (await resendReceipts.read(signed(body), parsedConfig)) as ReadReceipts
    expect(receipts).toMatchObject([
      { kind: 'accepted', providerStatus: 'email.bounced', providerCode: 'Transient' },
    ])
    expect(receipts[0]?.reason).toBeUndefined()
  })
})
