import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { SMTPServer } from 'smtp-server'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Network, parseNetwork } from '../../../src/core/requests/public-address.ts'
import type { Fault } from '../../../src/core/sends/outcome.ts'
import type { Delivery } from '../../../src/providers/delivery.ts'
import type { SmtpConfig } from '../../../src/providers/smtp/config.ts'
import {
  openSmtpEmulator,
  type SmtpAnswer,
  type SmtpEmulator,
} from '../../../src/providers/smtp/dev/emulator.ts'
import type { MailPart } from '../../../src/providers/smtp/dev/mail-part.ts'
import { smtp as rules } from '../../../src/providers/smtp/index.ts'
import { composeMail } from '../../../src/providers/smtp/mail.ts'
import { createMediaFetcher } from '../../../workers/http/media-fetcher.ts'
import { createSmtpSender } from '../../../workers/providers/smtp.ts'
import { openSmtpConnections } from '../../../workers/providers/smtp-connections.ts'
import { createFetchLinkedMedia } from '../../../workers/sends/dispatch/fetch-media.ts'
import { openMediaMemory } from '../../../workers/sends/dispatch/media-memory.ts'
import { cert, key } from '../../support/certificate.ts'
import { buildDelivery } from '../../support/deliveries.ts'
import { samples } from '../../support/media-samples.ts'
import { expectSooner, timed, unlessStoodStill } from '../../support/standstill.ts'
import { eventually } from '../../support/wait.ts'
import {
  answer,
  type Behaviour,
  neverAnswer,
  openWebhookReceiver,
  type WebhookReceiver,
} from '../../support/webhook-receiver.ts'
import { describeProvider, type FakeServer } from './contract.ts'

const timeoutMs = 500
const timeToHeedMs = 1000
const png = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)
const definition = { subject: 'Hi {{name}}', text: 'Dear {{name}}', html: '<b>{{name}}</b>' }

let emulator: SmtpEmulator
let files: WebhookReceiver
const media = createMediaFetcher({ allowedPrivateNetworks: [parseNetwork('127.0.0.0/8')] })

beforeAll(async () => {
  emulator = await openSmtpEmulator()
  files = await openWebhookReceiver()
})
afterAll(async () => {
  await emulator.stop()
  await files.stop()
  await media.close()
})

const serve =
  (content: Buffer, contentType?: string): Behaviour =>
  (_request, response) =>
    response.writeHead(200, contentType ? { 'content-type': contentType } : {}).end(content)

const fakeServers: Record<FakeServer, SmtpAnswer | undefined> = {
  accept: undefined,
  reject: { at: 'RCPT', reply: '550 5.1.1 <ann@example.com>: Recipient address rejected' },
  fail_for_a_while: { at: 'MAIL', reply: '451 4.3.0 Try again later' },
  limit_rate: { at: 'MAIL', reply: '450 4.7.1 Slow down' },
  drop_after_taking: { at: 'end', reply: 'drop' },
  never_answer: { at: 'end', reply: 'hang' },
}

const callsOf = (requestId: string) =>
  emulator.calls.filter(({ mail }) => mail?.headers['message-id']?.includes(requestId))

describeProvider('smtp', async () => ({
  provider: createSmtpSender(media),
  goodConfig: { host: 'mail.example.com', from: 'ann@example.com' },
  badConfig: { host: 'mail.example.com' },
  templates: [definition],
  async arrange(behaviour, delivery) {
    const answers = fakeServers[behaviour]
    if (answers) emulator.answerNext(answers)
    return await asDispatched({
      ...delivery,
      message: sendable(delivery.message),
      // A config of its own, so that each mail has a new connection.
      config: rules.config.parse(emulator.config),
    })
  },
  taken: async (requestId) => callsOf(requestId).filter(({ isTaken }) => isTaken),
  tellsNoRetryAfter: true,
  stop: async () => {},
}))

/** The suite's template is registered nowhere, and its link leads nowhere. */
function sendable(message: Delivery<unknown>['message']): Delivery<unknown>['message'] {
  if (message.type === 'template') return { type: 'template', template: { ...message.template, definition } }
  if (message.type !== 'media') return message
  const content = message.media.mediaType === 'image' ? png : Buffer.from('x')
  return { type: 'media', media: { ...message.media, mediaUrl: files.at(serve(content)) } }
}

/** As a worker hands it to the provider: with the content of its link. */
async function asDispatched(delivery: Delivery<unknown>, withinMs = 100_000): Promise<Delivery<unknown>> {
  const dispatched = await fetchedFor(delivery, withinMs)
  if ('outcome' in dispatched) throw new Error(dispatched.outcome)
  return dispatched
}

const fetchedFor = (delivery: Delivery<unknown>, withinMs: number) =>
  createFetchLinkedMedia(
    { settings: { PROVIDER_TIMEOUT_SECONDS: withinMs / 1000, WORKER_CONCURRENCY: 10 } },
    () => createSmtpSender(media),
  )(
    { requestId: delivery.requestId, accountId: 'an account', provider: 'smtp' },
    delivery,
    openMediaMemory().reservationFor('an account'),
  )

interface Attempt extends Partial<Delivery<unknown>> {
  config?: Partial<SmtpConfig>
}

async function send(
  parts: Attempt = {},
  answers: SmtpAnswer[] = [],
  withinMs = 100_000,
  tls = {},
  networks: Network[] = [],
) {
  emulator.answerNext(...answers)
  const before = emulator.calls.length
  const config = { ...rules.config.parse(emulator.config), ...parts.config }
  const delivery = buildDelivery(rules, config, { ...parts, config }) as Delivery<SmtpConfig>
  const sent = await timed(async () => {
    const dispatched = await fetchedFor(delivery, withinMs)
    if ('outcome' in dispatched) return { outcome: dispatched }
    const mail = dispatched as Delivery<SmtpConfig>
    const provider = createSmtpSender(media, tls, openSmtpConnections(), networks)
    return { outcome: await provider.send(mail, AbortSignal.timeout(withinMs)) }
  })
  return { ...sent, delivery, calls: emulator.calls.slice(before) }
}

/** A send that has to be taken. @returns what came. */
async function mailOf(parts: Attempt): Promise<MailPart & { raw: string; requestId: string }> {
  const { outcome, calls, delivery } = await send(parts)
  expect(outcome.outcome).toBe('sent')
  expect(calls).toHaveLength(1)
  const [{ mail, raw } = {}] = calls
  if (!mail || !raw) throw new Error('No mail came')
  return { ...mail, raw: raw.toString('latin1'), requestId: delivery.requestId }
}

/** Without the line break that ends every mail. */
const textOf = ({ content }: MailPart) => content.toString().replace(/\r\n$/, '')

describe('the config', () => {
  const least = { host: 'mail.example.com', from: 'ann@example.com' }

  test.each<[object, object]>([
    [{}, { port: 587, secure: false, subject: 'Message' }],
    [{ secure: true }, { port: 465 }],
    [{ secure: true, port: 2465 }, { port: 2465 }],
    [
      { host: '192.0.2.1', user: 'u', pass: 'p' },
      { host: '192.0.2.1', user: 'u', pass: 'p' },
    ],
    [{ host: '2001:db8::1' }, { host: '2001:db8::1' }],
    [{ host: 'mail' }, { host: 'mail' }],
    [{ from: '"Example, Inc." <a@example.com>' }, { from: '"Example, Inc." <a@example.com>' }],
    [{ subject: 'Grüße 👋' }, { subject: 'Grüße 👋' }],
    [{ subject: 'News for {{ contact.name }}' }, { subject: 'News for {{ contact.name }}' }],
    [{ subject: '{{reference}}' }, { subject: '{{reference}}' }],
    [{ subject: 'Hi {{name}}' }, { subject: 'Hi {{name}}' }],
    [{ replyTo: 'Help <help@example.com>' }, { replyTo: 'Help <help@example.com>' }],
    [{ headers: {} }, { headers: {} }],
    ...[
      { 'X-Campaign': 'spring {requestId}' },
      { 'List-Unsubscribe': '<https://example.com/u?m={requestId}>, <mailto:stop@example.com>' },
      { 'auto-submitted': 'no' },
    ].map((headers): [object, object] => [{ headers }, { headers }]),
    [{ name: 'mx1.example.net' }, { name: 'mx1.example.net' }],
    [{ name: '[192.0.2.1]' }, { name: '[192.0.2.1]' }],
    [{ name: '[IPv6:2001:db8::1]' }, { name: '[IPv6:2001:db8::1]' }],
  ])('is accepted, with defaults for missing fields: %j', (given, expected) => {
    const config = rules.config.parse({ ...least, ...given })
    expect(config).toMatchObject(expected)
    expect(rules.config.parse(config)).toEqual(config)
  })

  test.each([
    ['an unknown field', { tls: true }, [], /tls/],
    ['no host', { host: undefined }, ['host'], /./],
    ['a host with a protocol', { host: 'smtp://mail.example.com' }, ['host'], /without protocol/],
    ['a host with a port', { host: 'mail.example.com:25' }, ['host'], /without protocol and port/],
    ['a port of text', { port: '25' }, ['port'], /./],
    ['port 0', { port: 0 }, ['port'], /at least 1/],
    ['a port too high', { port: 65_536 }, ['port'], /at most 65535/],
    ['half a port', { port: 2.5 }, ['port'], /whole number/],
    ['a user without pass', { user: 'u' }, ['pass'], /both or neither/],
    ['a pass without user', { pass: 'p' }, ['user'], /both or neither/],
    ['no from', { from: undefined }, ['from'], /./],
    ['a from that is no address', { from: 'Ann' }, ['from'], /Name <address>/],
    ['a from of two addresses', { from: 'a@example.com, b@example.com' }, ['from'], /address/],
    ['a line break in from', { from: 'Ann\r\nBcc: b@example.com <a@example.com>' }, ['from'], /control/],
    ['a line break in the subject', { subject: 'Hi\nBcc: b@example.com' }, ['subject'], /control/],
    ['an address without brackets', { name: '192.0.2.1' }, ['name'], /brackets/],
    ['an address that is none', { name: '[192.0.2]' }, ['name'], /brackets/],
    ['a name with a space', { name: 'mx 1' }, ['name'], /host name/],
    ['a line break in the name', { name: 'mx\r\nMAIL' }, ['name'], /control/],
    ['an empty subject', { subject: '' }, ['subject'], /empty/],
    ['a replyTo that is no address', { replyTo: 'Ann' }, ['replyTo'], /address/],
    [
      'a header that the mail has',
      { headers: { Subject: 'x' } },
      ['headers', 'Subject'],
      /set by the service/,
    ],
    [
      'a recipient as a header',
      { headers: { bcc: 'b@example.com' } },
      ['headers', 'bcc'],
      /set by the service/,
    ],
    ['a header of content', { headers: { 'Content-Type': 'x' } }, ['headers', 'Content-Type'], /./],
    ['a header with a colon', { headers: { 'X:Y': 'x' } }, ['headers', 'X:Y'], /letters/],
    ['a line break in a header', { headers: { 'X-A': 'a\r\nBcc: b@x.de' } }, ['headers', 'X-A'], /control/],
    ['a header of other letters', { headers: { 'X-A': 'Grüße' } }, ['headers', 'X-A'], /ASCII/],
    ['an empty header', { headers: { 'X-A': '' } }, ['headers', 'X-A'], /empty/],
    ['a header twice', { headers: { 'X-A': '1', 'x-a': '2' } }, ['headers'], /twice/],
    [
      'too many headers',
      { headers: Object.fromEntries(Array.from({ length: 21 }, (_, i) => [`X-${i}`, 'x'])) },
      ['headers'],
      /20/,
    ],
    [
      'an unsubscription without brackets',
      { headers: { 'List-Unsubscribe': 'https://example.com' } },
      ['headers', 'List-Unsubscribe'],
      /<https/,
    ],
    [
      'an unsubscription in the clear',
      { headers: { 'List-Unsubscribe': '<http://example.com>' } },
      ['headers', 'List-Unsubscribe'],
      /<https/,
    ],
    [
      'another kind of mail',
      { headers: { 'Auto-Submitted': 'yes' } },
      ['headers', 'Auto-Submitted'],
      /auto-gen/,
    ],
  ])('is refused, and its fault named: %s', (_, given, path, message) => {
    const { error } = rules.config.safeParse({ ...least, ...given })
    expect(error?.issues[0]).toMatchObject({ path, message: expect.stringMatching(message) })
  })
})

describe('a template', () => {
  test.each([
    [{ subject: 'a', text: 'b' }, []],
    [{ subject: 'a', html: 'b' }, []],
    [{ subject: '{{a}}', text: '{{ b }} {{a}}', html: '{{c}}' }, ['a', 'b', 'c']],
    [{ subject: 'a {{', text: 'b }}' }, []],
  ])('is registered, and its variables are those of all its texts: %j', (given, variables) => {
    expect(rules.template.definition.safeParse(given).success).toBe(true)
    expect(rules.template.variablesOf(given)).toEqual(variables)
  })

  test.each([
    ['no subject', { text: 'a' }, ['subject'], /./],
    ['a subject of two lines', { subject: 'a\nb', text: 'a' }, ['subject'], /control/],
    ['nothing but a subject', { subject: 'a' }, ['text'], /text, html or both/],
    ['an unknown field', { subject: 'a', body: 'b' }, [], /body/],
    ['a key that no send can give', { subject: 'a', html: `{{${'k'.repeat(65)}}}` }, [], /64 characters/],
  ])('is not: %s', (_, given, path, message) => {
    const { error } = rules.template.definition.safeParse(given)
    expect(error?.issues[0]).toMatchObject({ path, message: expect.stringMatching(message) })
  })
})

describe('a mail', () => {
  test('a text is a plain text, from the channel to the contact, with the send as its id', async () => {
    const text = `Grüße 👋\n.\nFrom here\r\n..two dots\n${'long '.repeat(300)}`
    const mail = await mailOf({
      message: { type: 'text', text: { value: text } },
      contact: { type: 'email', value: 'ann@example.com', name: 'Änn "A." Exämple, <b@example.com>' },
      config: { subject: 'Grüße aus Köln' },
    })
    expect(mail.headers).toMatchObject({
      from: 'Outbound <outbound@example.org>',
      to: expect.stringMatching(/^"?Änn .*Exämple.*<ann@example\.com>$/),
      subject: 'Grüße aus Köln',
      'message-id': `<${mail.requestId}@example.org>`,
      'content-type': 'text/plain; charset=utf-8',
      date: expect.stringMatching(/./),
    })
    expect(textOf(mail)).toBe(text.replace(/\r?\n/g, '\r\n'))
  })

  test('only the contact gets it, and the sender is the address of from', async () => {
    const { calls } = await send({
      contact: { type: 'email', value: 'ann@example.com', name: 'a@x.example, Bob <b@example.com>' },
    })
    expect(calls).toMatchObject([{ from: 'outbound@example.org', to: ['ann@example.com'], user: 'outbound' }])
  })

  test('with a bounceToken, servers are asked for reports; without, nobody is', async () => {
    const asked = await send({ config: { bounceToken: 'token-of-the-pipe' } })
    const [{ requestId } = { requestId: '' }] = [asked.delivery]
    expect(asked.calls).toMatchObject([{ envelopeId: requestId, notify: ['SUCCESS', 'FAILURE'] }])
    const { calls } = await send({})
    expect(calls).toMatchObject([{ envelopeId: null, notify: [] }])
  })

  test('reports go to the return path, which may hold the requestId', async () => {
    const { calls, delivery } = await send({ config: { returnPath: 'bounce+{requestId}@example.org' } })
    expect(calls).toMatchObject([{ from: `bounce+${delivery.requestId}@example.org` }])
    expect((await send({ config: { returnPath: 'bounces@example.org' } })).calls).toMatchObject([
      { from: 'bounces@example.org' },
    ])
  })

  test("a template's variables are put in everywhere, and are no markup", async () => {
    const variables = [{ key: 'name', value: `<Ann> & "Bob's" {{x}}` }]
    const mail = await mailOf({
      message: { type: 'template', template: { name: 'welcome', variables, definition } },
    })
    expect(mail.headers.subject).toBe(`Hi <Ann> & "Bob's" {{x}}`)
    expect(mail.headers['content-type']).toMatch(/^multipart\/alternative/)
    expect(mail.parts.map(({ headers, content }) => [headers['content-type'], content.toString()])).toEqual([
      ['text/plain; charset=utf-8', `Dear <Ann> & "Bob's" {{x}}`],
      ['text/html; charset=utf-8', '<b>&lt;Ann&gt; &amp; &quot;Bob&#39;s&quot; {{x}}</b>'],
    ])
  })

  test.each([
    [{ subject: 'S', text: 'T' }, 'text/plain; charset=utf-8', 'T'],
    [{ subject: 'S', html: '<i>H</i>' }, 'text/html; charset=utf-8', '<i>H</i>'],
  ])('a template of one text has one part: %j', async (only, contentType, content) => {
    const template = { name: 'welcome', variables: [], definition: only }
    const mail = await mailOf({ message: { type: 'template', template } })
    expect(mail.headers['content-type']).toBe(contentType)
    expect(textOf(mail)).toBe(content)
  })

  test('a template that is not registered is no mail', async () => {
    const { outcome, calls } = await send({
      message: { type: 'template', template: { name: 'welcome', variables: [] } },
    })
    expect(outcome.outcome).toBe('rejected')
    expect(calls).toEqual([])
  })

  const bytes = Buffer.from(Array.from({ length: 200_001 }, (_, i) => (i * 7) % 256))
  test.each([
    ['image', 'image/png', 'image.png'],
    ['video', 'video/mp4', 'video.mp4'],
    ['audio', 'audio/mpeg', /^audio\.mp\w+$/],
    ['document', 'application/pdf', 'document.pdf'],
    ['document', undefined, 'document.bin'],
  ] as const)('%s of base64 is attached with its very bytes: %s', async (mediaType, mimetype, filename) => {
    const content = { mediaType, mimetype, caption: 'Look', sizeBytes: bytes.length }
    const mail = await mailOf({ message: { type: 'media', media: content }, mediaContent: bytes })
    const [text, attachment] = mail.parts
    expect(mail.parts).toHaveLength(2)
    expect(text?.content.toString()).toBe('Look')
    expect(attachment?.content.equals(bytes)).toBe(true)
    expect(attachment?.headers['content-type']).toMatch(mimetype ?? 'application/octet-stream')
    const name = /^attachment; filename=(.*)$/.exec(attachment?.headers['content-disposition'] ?? '')?.[1]
    expect(name).toMatch(filename)
  })

  test.each(['image', 'video', 'audio', 'document'] as const)(
    '%s of a link is fetched',
    async (mediaType) => {
      const content = mediaType === 'image' ? png : bytes
      const mediaUrl = files.at(serve(content, 'application/x-own; charset=x'))
      const mail = await mailOf({ message: { type: 'media', media: { mediaType, mediaUrl } } })
      expect(mail.content.equals(content)).toBe(true)
      expect(mail.headers['content-type']).toMatch(/^application\/x-own;/)
    },
  )

  test.each([
    ['the type that the send names', 'image/apng', 'image/png', /^image\/apng/],
    ['else the one that the server names', undefined, 'image/x-own', /^image\/x-own/],
    ['else the one that it is recognised as', undefined, undefined, /^image\/png/],
    ['not one of the server that the content contradicts', undefined, 'image/jpeg', /^image\/png/],
    ['not one of a file store that says nothing', undefined, 'binary/octet-stream', /^image\/png/],
    ['not one of the send that says nothing', 'application/octet-stream', undefined, /^image\/png/],
  ])('a fetched media has %s', async (_, mimetype, served, expected) => {
    const mediaUrl = files.at(serve(png, served))
    const mail = await mailOf({
      message: { type: 'media', media: { mediaType: 'image', mimetype, mediaUrl } },
    })
    expect(mail.headers['content-type']).toMatch(expected)
  })

  test.each(['octet', 'binary'])('a picture of a file store has its own extension: %s', async (name) => {
    const mediaUrl = files.at(serve(png, `${name}/octet-stream`.replace(/^octet/, 'application')))
    const mail = await mailOf({ message: { type: 'media', media: { mediaType: 'image', mediaUrl } } })
    expect(mail.headers['content-disposition']).toBe('attachment; filename=image.png')
  })

  test('a fetched type keeps its parameters', async () => {
    const mediaUrl = files.at(
      serve(Buffer.from('BEGIN:VCALENDAR'), 'text/calendar; method=REQUEST; charset=UTF-8'),
    )
    const mail = await mailOf({ message: { type: 'media', media: { mediaType: 'document', mediaUrl } } })
    expect(mail.headers['content-type']).toMatch(/^text\/calendar;.*\bmethod=REQUEST\b/s)
    expect(mail.headers['content-type']).toMatch(/\bcharset=UTF-8\b/i)
  })

  test.each([
    ['message/rfc822', 'application/octet-stream'],
    ['multipart/mixed; boundary=x', 'application/octet-stream'],
    ['Message/Partial', 'application/octet-stream'],
    ['text/plain', 'text/plain'],
  ])(
    'the bytes stay as they are, and are no part of the mail, whatever the type says: %s',
    async (mimetype, expected) => {
      const content = Buffer.from('Subject: x\n\n--x\r.\r\n.\nüx\r\n.\r\n')
      const mail = await mailOf({
        message: { type: 'media', media: { mediaType: 'document', mimetype, caption: 'c', sizeBytes: 1 } },
        mediaContent: content,
      })
      expect(mail.parts[1]?.content).toEqual(content)
      expect(mail.parts[1]?.headers['content-type']?.split(';')[0]).toBe(expected)
    },
  )

  test.each(['Grüße 👋.pdf', `a "b'; c.pdf`, '=?utf-8?q?x?=', 'a; filename=b.exe', 'x'.repeat(255)])(
    'a filename cannot say more than a name: %s',
    async (filename) => {
      const mail = await mailOf({
        message: { type: 'media', media: { mediaType: 'document', filename, caption: 'c', sizeBytes: 1 } },
        mediaContent: Buffer.from('x'),
      })
      const { headers } = mail.parts[1] ?? {}
      expect(Object.keys(headers ?? {}).sort()).toEqual([
        'content-disposition',
        'content-transfer-encoding',
        'content-type',
      ])
      expect(headers?.['content-disposition']).toMatch(/^attachment; filename/)
    },
  )

  test('no line of a mail is longer than a server has to take', async () => {
    const variables = [{ key: 'name', value: 'x'.repeat(255) }]
    const { raw } = await mailOf({
      message: { type: 'template', template: { name: 'a', variables, definition } },
      contact: { type: 'email', value: 'ann@example.com', name: 'n'.repeat(256) },
    })
    expect(Math.max(...raw.split('\r\n').map(({ length }) => length))).toBeLessThanOrEqual(998)
  })

  test('the same send has the same id on each attempt', async () => {
    const { delivery, outcome } = await send()
    expect(outcome).toEqual({
      outcome: 'sent',
      providerMessageId: `<${delivery.requestId}@example.org>`,
      providerStatus: 250,
    })
    const again = await send({ requestId: delivery.requestId, attempt: 2 })
    expect(again.outcome).toEqual(outcome)
  })

  test('an id that the server gives is the provider message id', async () => {
    const { outcome } = await send({}, [
      { at: 'end', reply: '250 2.0.0 OK <AS8P1.X@EUR.PROD.OUTLOOK.COM> [Hostname=x]' },
    ])
    expect(outcome).toMatchObject({ providerMessageId: '<AS8P1.X@EUR.PROD.OUTLOOK.COM>' })
  })
})

test('what is recognised as a zip only is not called one: it may be an office file', async () => {
  const mediaUrl = files.at(serve(samples.zip))
  const mail = await mailOf({ message: { type: 'media', media: { mediaType: 'document', mediaUrl } } })
  expect(mail.raw).toContain('application/octet-stream')
  expect(mail.raw).not.toContain('application/zip')
})

describe('media that cannot be fetched', () => {
  test.each<[string, Behaviour, string]>([
    ['404', answer(404), 'rejected'],
    ['503', answer(503), 'retry_later'],
    ['a redirect', answer(302, { location: 'https://example.com' }), 'rejected'],
    ['no answer', neverAnswer, 'retry_later'],
    ['a page where an image should be', serve(Buffer.from('<html>'), 'text/html'), 'rejected'],
  ])('%s: no session is opened', async (_, behaviour, expected) => {
    const mediaUrl = `${files.at(behaviour)}?token=t0ken`
    const { outcome, calls } = await send(
      { message: { type: 'media', media: { mediaType: 'image', mediaUrl } } },
      [],
      behaviour === neverAnswer ? timeoutMs : undefined,
    )
    expect(outcome.outcome).toBe(expected)
    expect(JSON.stringify(outcome)).not.toMatch(/t0ken|127\.0/)
    expect(calls).toEqual([])
  })

  test('a mimetype that the content contradicts: the reason names both', async () => {
    const mediaUrl = files.at(serve(png))
    const { outcome, calls } = await send({
      message: { type: 'media', media: { mediaType: 'image', mimetype: 'image/jpeg', mediaUrl } },
    })
    expect(outcome).toMatchObject({
      outcome: 'rejected',
      fault: 'message',
      reason: expect.stringMatching(/image\/jpeg.*image\/png/),
    })
    expect(calls).toEqual([])
  })

  test('an address that is not public', async () => {
    const mediaUrl = files.at(serve(png)).replace('127.0.0.1', '[::1]')
    const { outcome } = await send({ message: { type: 'media', media: { mediaType: 'image', mediaUrl } } })
    expect(outcome).toMatchObject({ outcome: 'rejected', reason: expect.stringMatching(/not public/) })
  })
})

/** Each reply with what RFC 5321, 4.2.3 and RFC 4954, 6 mean by it. */
test.each<[SmtpAnswer['at'], string, string, Fault, string?]>([
  ['connect', '421 4.3.2 mx closing', 'retry_later', 'provider', '4.3.2'],
  ['connect', '450 4.7.1 not now', 'retry_later', 'provider', '4.7.1'],
  ['connect', '554 5.7.1 blocked', 'channel_refused', 'sender', '5.7.1'],
  ['connect', '521 no mail here', 'channel_refused', 'sender'],
  ['EHLO', '421 4.3.2 mx closing', 'retry_later', 'provider', '4.3.2'],
  ['AUTH', '535 5.7.8 wrong', 'channel_refused', 'sender', '5.7.8'],
  ['AUTH', '535-5.7.8 wrong\n535 5.7.8 still', 'channel_refused', 'sender', '5.7.8'],
  ['AUTH', '534 5.7.9 too weak', 'channel_refused', 'sender', '5.7.9'],
  ['AUTH', '530 5.7.0 needs TLS', 'channel_refused', 'sender', '5.7.0'],
  ['AUTH', '538 5.7.11 needs TLS', 'channel_refused', 'sender', '5.7.11'],
  ['AUTH', '502 5.5.1 no AUTH', 'channel_refused', 'sender', '5.5.1'],
  ['AUTH', '454 4.7.0 later', 'retry_later', 'provider', '4.7.0'],
  ['AUTH', '432 4.7.12 new password', 'retry_later', 'provider', '4.7.12'],
  ['AUTH', '421 4.7.0 too many', 'retry_later', 'provider', '4.7.0'],
  ['MAIL', '530 5.7.0 log in', 'channel_refused', 'sender', '5.7.0'],
  ['MAIL', '421 4.7.0 closing', 'retry_later', 'provider', '4.7.0'],
  ['MAIL', '451 4.3.0 later', 'retry_later', 'provider', '4.3.0'],
  ['MAIL', '452 4.3.1 full', 'retry_later', 'provider', '4.3.1'],
  ['MAIL', '550 5.7.1 not yours', 'channel_refused', 'sender', '5.7.1'],
  ['MAIL', '550 no such sender', 'channel_refused', 'sender'],
  ['MAIL', '553 5.1.8 no such domain', 'channel_refused', 'sender', '5.1.8'],
  ['MAIL', '552 5.3.4 too large', 'rejected', 'message', '5.3.4'],
  ['MAIL', '552 too large', 'rejected', 'message'],
  ['RCPT', '421 4.7.0 closing', 'retry_later', 'provider', '4.7.0'],
  ['RCPT', '450 4.2.1 busy', 'retry_later', 'recipient', '4.2.1'],
  ['RCPT', '450 4.7.1 greylisted', 'retry_later', 'recipient', '4.7.1'],
  ['RCPT', '452 4.2.2 full', 'retry_later', 'recipient', '4.2.2'],
  ['RCPT', '452 4.3.1 no storage', 'retry_later', 'provider', '4.3.1'],
  ['RCPT', '451 4.4.1 no answer from theirs', 'retry_later', 'recipient', '4.4.1'],
  ['RCPT', '451 greylisted', 'retry_later', 'recipient'],
  ['RCPT', '452 4.5.3 too many', 'retry_later', 'provider', '4.5.3'],
  ['RCPT', '550 5.1.1 unknown', 'rejected', 'recipient', '5.1.1'],
  ['RCPT', '551 5.1.6 moved', 'rejected', 'recipient', '5.1.6'],
  ['RCPT', '553 5.1.3 bad', 'rejected', 'recipient', '5.1.3'],
  ['RCPT', '554 no', 'rejected', 'recipient'],
  ['RCPT', '550 5.7.1 not allowed', 'rejected', 'recipient', '5.7.1'],
  // Postfix says at RCPT what it has against the sender (smtpd_delay_reject).
  ['RCPT', '553 5.1.8 no such domain', 'channel_refused', 'sender', '5.1.8'],
  ['RCPT', '553 5.1.7 bad sender', 'channel_refused', 'sender', '5.1.7'],
  ['RCPT', '450 4.1.8 no such domain now', 'retry_later', 'sender', '4.1.8'],
  ['DATA', '421 4.7.0 closing', 'retry_later', 'provider', '4.7.0'],
  ['DATA', '451 4.3.0 later', 'retry_later', 'provider', '4.3.0'],
  ['DATA', '554 5.5.1 no', 'rejected', 'message', '5.5.1'],
  ['content', '552 5.3.4 too large', 'rejected', 'message', '5.3.4'],
  ['end', '421 4.3.0 closing', 'retry_later', 'provider', '4.3.0'],
  ['end', '451 4.7.1 greylisted', 'retry_later', 'message', '4.7.1'],
  ['end', '451 later', 'retry_later', 'provider'],
  ['end', '452 4.2.2 full', 'retry_later', 'recipient', '4.2.2'],
  ['end', '550 5.2.2 full', 'rejected', 'recipient', '5.2.2'],
  ['end', '452 4.3.1 full', 'retry_later', 'provider', '4.3.1'],
  ['end', '550 5.7.1 spam', 'rejected', 'message', '5.7.1'],
  ['end', '550 5.1.8 no such domain', 'channel_refused', 'sender', '5.1.8'],
  ['end', '554 5.6.0 bad', 'rejected', 'message', '5.6.0'],
])('a reply at %s, %s, is %s by the fault of the %s', async (at, reply, expected, fault, providerCode) => {
  const { outcome, calls } = await send({}, [{ at, reply }])
  expect(outcome).toMatchObject({
    outcome: expected,
    fault,
    providerStatus: Number(reply.slice(0, 3)),
    providerCode,
  })
  expect(calls).toHaveLength(1)
  expect(calls[0]?.isTaken).toBe(false)
})

test('a sender that is refused only at RCPT TO holds the channel by a reason that names the sender', async () => {
  const { outcome } = await send({}, [{ at: 'RCPT', reply: '553 5.1.8 no such domain' }])
  expect(outcome).toMatchObject({ outcome: 'channel_refused', reason: 'the server refused the sender' })
})

test.each([
  [{}, 'example.org'],
  [{ from: 'Ann <ann@Mail.Example.org>' }, 'mail.example.org'],
  [{ name: 'mx1.example.net' }, 'mx1.example.net'],
  [{ name: '[192.0.2.1]' }, '[192.0.2.1]'],
])(
  'the server is greeted by the name of the channel, or else the domain of from: %j',
  async (given, name) => {
    const { calls } = await send({ config: rules.config.parse({ ...emulator.config, ...given }) })
    expect(calls).toMatchObject([{ name, isTaken: true }])
  },
)

test.each<[SmtpAnswer['at'], string]>([
  ['connect', 'retry_later'],
  ['EHLO', 'retry_later'],
  ['AUTH', 'retry_later'],
  ['MAIL', 'retry_later'],
  ['RCPT', 'retry_later'],
  ['DATA', 'retry_later'],
  ['content', 'uncertain'],
  ['end', 'uncertain'],
])(
  'a connection lost, or an answer missing, at %s is %s, in time and in one session',
  async (at, expected) => {
    for (const reply of ['drop', 'hang'] as const) {
      const { outcome, calls, ...span } = await send({}, [{ at, reply }], timeoutMs)
      const became = { outcome: expected, fault: 'provider', reason: expect.stringMatching(/lost|in time/) }
      unlessStoodStill(span, () => expect(outcome, reply).toEqual(became))
      expectSooner(span, timeoutMs + timeToHeedMs)
      await sleep(50)
      unlessStoodStill(span, () => expect(calls).toHaveLength(1))
      await eventually('no session is open', async () => emulator.open() === 0)
    }
  },
)

describe('what a channel adds to each mail', () => {
  const withConfig = (changes: object) => ({ config: rules.config.parse({ ...emulator.config, ...changes }) })
  const named = (name?: string) => ({ contact: { type: 'email', value: 'ann@example.com', name } as const })

  test('by default: nobody answers it with a notice of absence', async () => {
    const { headers } = await mailOf({})
    expect(headers['auto-submitted']).toBe('auto-generated')
    expect(headers).not.toHaveProperty('reply-to')
    expect(headers).not.toHaveProperty('list-unsubscribe-post')
  })

  test.each([
    ['News for {{contact.name}}', 'Ann Müller', null, 'News for Ann Müller'],
    ['News for {{contact.name}}', undefined, null, 'News for'],
    ['{{contact.name}}', undefined, null, 'Message'],
    ['{{contact.name}}: news {{reference}}', '{{reference}}', null, '{{reference}}: news'],
    ['{{contact.name}}: order {{ reference }}', 'Ann', 'A-4711', 'Ann: order A-4711'],
    ['{{reference}}', undefined, '{{contact.name}}', '{{contact.name}}'],
    ['{{reference}}', undefined, 'x'.repeat(256), 'x'.repeat(255)],
  ])(
    'the subject %j for a contact named %s and the reference %s is %j',
    async (subject, name, reference, expected) => {
      const { headers } = await mailOf({ ...named(name), reference, ...withConfig({ subject }) })
      expect(headers.subject).toBe(expected)
    },
  )

  test('an address for answers', async () => {
    const { headers } = await mailOf(withConfig({ replyTo: '"Help, desk" <help@example.com>' }))
    expect(headers['reply-to']).toBe('"Help, desk" <help@example.com>')
  })

  test('a link to unsubscribe, which works with one click (RFC 8058)', async () => {
    const link = `<https://example.com/unsubscribe?${'x'.repeat(200)}&m={requestId}>, <mailto:stop@example.com>`
    const { headers, requestId, raw } = await mailOf(withConfig({ headers: { 'List-Unsubscribe': link } }))
    expect(headers['list-unsubscribe']).toBe(link.replace('{requestId}', requestId))
    expect(headers['list-unsubscribe-post']).toBe('List-Unsubscribe=One-Click')
    expect(raw.split('\r\n').every((line) => line.length <= 998)).toBe(true)
  })

  test('no one-click without a link by https, or where the channel says otherwise', async () => {
    const byMail = { 'List-Unsubscribe': '<mailto:stop@example.com>' }
    expect((await mailOf(withConfig({ headers: byMail }))).headers).not.toHaveProperty(
      'list-unsubscribe-post',
    )
    const own = { 'list-unsubscribe': '<https://example.com>', 'list-unsubscribe-post': 'own' }
    const { headers } = await mailOf(withConfig({ headers: own }))
    expect(headers['list-unsubscribe-post']).toBe('own')
  })

  test('further headers, and another kind than automatic', async () => {
    const headers = { 'X-Campaign': 'spring', 'Auto-Submitted': 'no' }
    const mail = await mailOf(withConfig({ headers }))
    expect(mail.headers).toMatchObject({ 'x-campaign': 'spring', 'auto-submitted': 'no' })
    expect(mail.raw.match(/^auto-submitted:/gim)).toHaveLength(1)
  })
})

test("the emulator's recipients behave differently", async () => {
  const to = (value: string) => send({ contact: { type: 'email', value } })
  expect((await to('unknown@example.com')).outcome).toMatchObject({
    outcome: 'rejected',
    fault: 'recipient',
    providerCode: '5.1.1',
  })
  expect((await to('full@example.com')).outcome).toMatchObject({
    outcome: 'retry_later',
    fault: 'recipient',
    providerCode: '4.2.2',
  })
})

describe('a reason', () => {
  test("a refused login: the server's own words, without the credentials and addresses that it repeats", async () => {
    // As Gmail has it: https://support.google.com/a/answer/3726730
    const reply = `535-5.7.8 Username and Password not accepted. For more information, go to
535 5.7.8  https://support.google.com/mail/?p=BadCredentials b-7 - gsmtp`
    const result = await send({}, [{ at: 'AUTH', reply }])
    expect(result.outcome).toMatchObject({
      outcome: 'channel_refused',
      reason:
        'the server refused the login: Username and Password not accepted. For more information, go to … b-7 - gsmtp',
    })
    const echo = `535 5.7.8 outbound emulated password ${Buffer.from('emulated password').toString('base64')} me@example.org`
    const { outcome } = await send({}, [{ at: 'AUTH', reply: echo }])
    expect(outcome).toMatchObject({ reason: 'the server refused the login: … … … …' })
  })

  test('a wrong password is refused for good', async () => {
    const { outcome } = await send({ config: { pass: 'wrong' } })
    expect(outcome).toEqual({
      outcome: 'channel_refused',
      fault: 'sender',
      reason: 'the server refused the login: Authentication credentials invalid',
      providerStatus: 535,
      providerCode: '5.7.8',
    })
  })

  test('a missing login where the server wants one is a fault of the channel', async () => {
    const { outcome } = await send({ config: { user: undefined, pass: undefined } })
    expect(outcome).toMatchObject({ outcome: 'channel_refused', providerStatus: 530 })
  })

  test.each(['RCPT', 'DATA', 'end'] as const)('neither contact nor content, at %s', async (at) => {
    for (const code of [450, 550]) {
      const { outcome } = await send({}, [{ at, reply: `${code} no ann at example.com wants "Hello"` }])
      expect(JSON.stringify(outcome)).not.toMatch(/ann|Hello/)
    }
  })
})

describe('TLS', () => {
  let secure: SmtpEmulator
  let upgrading: SmtpEmulator
  beforeAll(async () => {
    secure = await openSmtpEmulator({ key, cert, secure: true })
    upgrading = await openSmtpEmulator({ key, cert })
  })
  afterAll(async () => {
    await secure.stop()
    await upgrading.stop()
  })
  /** It reaches this machine and is no loopback address, so it is treated like one far away. */
  const away = '0.0.0.0'
  const trusted = { ca: cert }

  test('a server that is trusted gets the mail, at a TLS port and by STARTTLS', async () => {
    const direct = { host: away, port: secure.config.port, secure: true }
    expect((await send({ config: direct }, [], 5000, trusted)).outcome.outcome).toBe('sent')
    expect(secure.calls).toMatchObject([{ isSecure: true, isTaken: true, user: 'outbound' }])
    const upgraded = { host: away, port: upgrading.config.port }
    expect((await send({ config: upgraded }, [], 5000, trusted)).outcome.outcome).toBe('sent')
    expect(upgrading.calls).toMatchObject([{ isSecure: true, isTaken: true, user: 'outbound' }])
  })

  test('a certificate that does not hold holds the channel, and nothing is said to the server', async () => {
    for (const [far, isSecure] of [
      [secure, true],
      [upgrading, false],
    ] as const) {
      const config = { host: away, port: far.config.port, secure: isSecure }
      const before = far.calls.filter(({ user, from }) => user || from).length
      const { outcome } = await send({ config })
      expect(outcome).toEqual({
        outcome: 'channel_refused',
        fault: 'sender',
        reason: 'no TLS connection (DEPTH_ZERO_SELF_SIGNED_CERT)',
      })
      expect(far.calls.filter(({ user, from }) => user || from)).toHaveLength(before)
    }
  })

  test('credentials are not sent without TLS, except on this machine', async () => {
    const config = { host: away, port: emulator.config.port }
    const { outcome, calls } = await send({ config })
    const reason = expect.stringMatching(/^the server offers no TLS/)
    expect(outcome).toMatchObject({ outcome: 'channel_refused', reason })
    expect(calls).toMatchObject([{ user: undefined, from: undefined }])
  })

  test('on this machine nothing is asked of a certificate, and TLS is used where it is offered', async () => {
    for (const [far, isSecure] of [
      [secure, true],
      [upgrading, false],
    ] as const) {
      const { outcome } = await send({ config: { port: far.config.port, secure: isSecure } })
      expect(outcome.outcome).toBe('sent')
      expect(far.calls.at(-1)).toMatchObject({ isSecure: true, user: 'outbound' })
    }
  })

  test.each([
    ['with a login', { user: 'ann', pass: 'p9' }],
    ['without one', { user: undefined, pass: undefined }],
  ])('a server on this machine that takes no mail before STARTTLS gets it: %s', async (_, login) => {
    const demanding = new SMTPServer({
      key,
      cert,
      authOptional: true,
      onAuth: ({ username }, _session, next) => next(null, { user: username }),
      onMailFrom(_address, session, next) {
        const refusal = Object.assign(new Error('5.7.0 Must issue a STARTTLS command first'), {
          responseCode: 530,
        })
        if (session.secure) next()
        else next(refusal)
      },
      onData: (stream, _session, next) => void stream.resume().once('end', () => next()),
    })
    const server = demanding.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const { outcome } = await send({ config: { port, ...login } })
    expect(outcome).toMatchObject({ outcome: 'sent', providerStatus: 250 })
    await new Promise<void>((resolve) => demanding.close(resolve))
  })

  describe('without a login', () => {
    const noLogin = { user: undefined, pass: undefined }
    const inside = [parseNetwork('127.0.0.0/8')]
    const sendTo = (
      { config: { port } }: SmtpEmulator,
      more: Partial<SmtpConfig> = {},
      networks?: Network[],
    ) => send({ config: { host: away, port, ...noLogin, ...more } }, [], 5000, trusted, networks)

    test.each<[string, Partial<SmtpConfig>]>([
      ['by default, as in a config of a former release', {}],
      ['with requireTls', { requireTls: true }],
    ])('a server from whose answer STARTTLS was stripped gets nothing: %s', async (_, more) => {
      const stripped = await openSmtpEmulator({ authOptional: true })
      const { outcome } = await sendTo(stripped, more)
      expect(outcome).toEqual({
        outcome: 'channel_refused',
        fault: 'sender',
        reason: expect.stringMatching(/^the server offers no TLS; .* set requireTls to false in the config/),
      })
      expect(stripped.calls).toMatchObject([{ isTaken: false, to: [] }])
      expect(stripped.calls[0]?.from).toBeUndefined()
      await stripped.stop()
    })

    test('a server that refuses EHLO, and so offers no STARTTLS, gets nothing', async () => {
      const old = await openSmtpEmulator({ authOptional: true })
      old.answerNext({ at: 'EHLO', reply: '502 Not implemented' })
      const { outcome } = await sendTo(old)
      expect(outcome).toMatchObject({
        outcome: 'channel_refused',
        reason: expect.stringMatching(/requireTls/),
      })
      expect(old.calls[0]?.from).toBeUndefined()
      await old.stop()
    })

    test.each<[string, Partial<SmtpConfig>, Network[]]>([
      ['with requireTls false', { requireTls: false }, []],
      ['in an allowed network', {}, inside],
      ['on this machine', { host: '127.0.0.1' }, []],
    ])('a server without TLS gets the mail in clear: %s', async (_, more, networks) => {
      const plain = await openSmtpEmulator({ authOptional: true })
      expect((await sendTo(plain, more, networks)).outcome.outcome).toBe('sent')
      expect(plain.calls).toMatchObject([{ isSecure: false, isTaken: true, user: undefined }])
      await plain.stop()
    })

    test.each<[string, Partial<SmtpConfig>, Network[]]>([
      ['in an allowed network', { requireTls: true }, inside],
      ['on this machine', { requireTls: true, host: '127.0.0.1' }, []],
    ])('requireTls holds also for a server %s', async (_, more, networks) => {
      const plain = await openSmtpEmulator({ authOptional: true })
      expect((await sendTo(plain, more, networks)).outcome.outcome).toBe('channel_refused')
      expect(plain.calls[0]?.from).toBeUndefined()
      await plain.stop()
    })

    test('TLS is used where it is offered, whatever requireTls says', async () => {
      const far = await openSmtpEmulator({ key, cert, authOptional: true })
      for (const more of [{}, { requireTls: false }])
        expect((await sendTo(far, more, inside)).outcome.outcome).toBe('sent')
      expect(far.calls.map(({ isSecure }) => isSecure)).toEqual([true, true])
      await far.stop()
    })
  })

  test('a login is not sent without TLS, though requireTls is false or the network is allowed', async () => {
    const config = { host: away, port: emulator.config.port, requireTls: false }
    const { outcome, calls } = await send({ config }, [], 5000, {}, [parseNetwork('127.0.0.0/8')])
    const reason = expect.stringMatching(/^the server offers no TLS, and a login is never sent without/)
    expect(outcome).toMatchObject({ outcome: 'channel_refused', reason })
    expect(calls).toMatchObject([{ user: undefined, from: undefined }])
  })

  test('STARTTLS that is refused for a while is tried later', async () => {
    upgrading.answerNext({ at: 'STARTTLS', reply: '454 4.7.0 TLS not available for now' })
    const { outcome } = await send({ config: { host: away, port: upgrading.config.port } }, [], 5000, trusted)
    expect(outcome).toMatchObject({ outcome: 'retry_later', providerStatus: 454 })
  })

  test('a connection lost while TLS begins is tried later', async () => {
    for (const reply of ['drop', 'hang'] as const) {
      upgrading.answerNext({ at: 'STARTTLS', reply })
      const config = { host: away, port: upgrading.config.port }
      const { outcome } = await send({ config }, [], timeoutMs, trusted)
      expect(outcome.outcome).toBe('retry_later')
    }
  })

  test('TLS at a port without TLS is a fault of the channel', async () => {
    const { outcome } = await send({ config: { secure: true } })
    expect(outcome).toMatchObject({ outcome: 'channel_refused', reason: expect.stringMatching(/no TLS/) })
  })
})

describe('no session', () => {
  test.each([
    ['a refused connection', { port: 1 }, /^the connection was refused$/],
    ['an unknown name', { host: 'none.invalid' }, /host name|in time/],
  ])('is to be tried later: %s', async (_, config, reason) => {
    const { outcome, ...span } = await send({ config }, [], 2000)
    const became = { outcome: 'retry_later', fault: 'provider', reason: expect.stringMatching(reason) }
    unlessStoodStill(span, () => expect(outcome).toEqual(became))
    expectSooner(span, 2000 + timeToHeedMs)
  })

  test('is opened for a call that is over before it began', async () => {
    const before = emulator.calls.length
    const delivery = buildDelivery(rules, rules.config.parse(emulator.config)) as Delivery<SmtpConfig>
    expect((await createSmtpSender(media).send(delivery, AbortSignal.abort())).outcome).toBe('retry_later')
    await sleep(50)
    expect(emulator.calls).toHaveLength(before)
  })

  test.each([
    ['another protocol', 'HTTP/1.1 400 Bad Request\r\n\r\n'],
    ['a greeting without an end', '220-hello\r\n'],
  ])('is had with %s', async (_, bytes) => {
    const other = createServer((socket) => socket.on('error', () => {}).write(bytes)).listen(0, '127.0.0.1')
    await new Promise((resolve) => other.once('listening', resolve))
    const { port } = other.address() as { port: number }
    const { outcome } = await send({ config: { port } }, [], timeoutMs)
    expect(outcome.outcome).toBe('retry_later')
    other.close()
  })
})

test('a mail that is larger than the server takes is refused before it is sent', async () => {
  const small = await openSmtpEmulator({ size: 1000 })
  const { outcome } = await send({
    config: { port: small.config.port },
    message: { type: 'media', media: { mediaType: 'document', sizeBytes: 2000 } },
    mediaContent: Buffer.alloc(2000),
  })
  expect(outcome).toEqual({
    outcome: 'rejected',
    fault: 'message',
    reason: 'the mail is larger than the server accepts',
  })
  expect(small.calls).toMatchObject([{ from: undefined, isTaken: false }])
  await small.stop()
})

const largest = {
  message: { type: 'media', media: { mediaType: 'document', sizeBytes: 16 * 1024 * 1024 } },
  mediaContent: Buffer.alloc(16 * 1024 * 1024, 'x'),
} as const

test('the largest media is put together while it is sent', async () => {
  const delivery = buildDelivery(rules, rules.config.parse(emulator.config), largest) as Delivery<SmtpConfig>
  const mail = composeMail(delivery)
  if ('outcome' in mail) throw new Error(mail.outcome)
  const before = process.memoryUsage().arrayBuffers
  let read = 0
  for await (const chunk of mail.read()) {
    read += chunk.length
    if (read > 1024 * 1024) break
  }
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(8 * 1024 * 1024)
})

test('the session with a server that stops reading ends at the time limit', async () => {
  const { outcome, ...span } = await send(largest, [{ at: 'content', reply: 'hang' }], timeoutMs)
  const became = { outcome: 'uncertain', fault: 'provider', reason: 'no answer in time' }
  unlessStoodStill(span, () => expect(outcome).toEqual(became))
  expectSooner(span, timeoutMs + timeToHeedMs)
})

test('the largest media arrives whole', async () => {
  const mail = await mailOf(largest)
  expect(mail.content.equals(largest.mediaContent)).toBe(true)
})
