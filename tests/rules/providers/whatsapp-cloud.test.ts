import { webcrypto } from 'node:crypto'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { Message } from '../../../src/core/messages/message.ts'
import type { ReceiptRequest } from '../../../src/core/receipts/receipt.ts'
import { parseNetwork } from '../../../src/core/requests/public-address.ts'
import type { Delivery } from '../../../src/providers/delivery.ts'
import type { Emulator } from '../../../src/providers/shared/dev/emulator.ts'
import type { EmulatedAnswer } from '../../../src/providers/shared/dev/http-emulator.ts'
import type { CallContext } from '../../../src/providers/shared/http/http-call.ts'
import type { WhatsAppCloudConfig } from '../../../src/providers/whatsapp-cloud/config.ts'
import {
  graphError,
  openWhatsAppEmulator,
  type WhatsAppCall,
} from '../../../src/providers/whatsapp-cloud/dev/emulator.ts'
import { statusReport } from '../../../src/providers/whatsapp-cloud/dev/reports.ts'
import { whatsappCloud as rules } from '../../../src/providers/whatsapp-cloud/index.ts'
import { whatsAppReceipts } from '../../../src/providers/whatsapp-cloud/receipts.ts'
import { requestFor, upload } from '../../../src/providers/whatsapp-cloud/request.ts'
import { createHttpClient, type HttpClient } from '../../../workers/http/http.ts'
import { buildDelivery } from '../../support/deliveries.ts'
import { httpSender } from '../../support/http-sender.ts'
import { expectSooner, timed } from '../../support/standstill.ts'
import { eventually } from '../../support/wait.ts'
import { describeProvider, type FakeServer } from './contract.ts'
import { aRequestId, contactPhone, describeReceipts } from './receipts-contract.ts'

const loopback = [parseNetwork('127.0.0.0/8')]
// The fixtures of errors: https://developers.facebook.com/documentation/business-messaging/whatsapp/support/error-codes
const error = (status: number, code: number, title: string, details = 'Some details.') =>
  graphError(status, code, `(#${code}) ${title}`, { details })

const fakeServers: Record<FakeServer, EmulatedAnswer[]> = {
  accept: [],
  reject: [error(400, 131026, 'Message undeliverable')],
  fail_for_a_while: [error(500, 131016, 'Service unavailable')],
  limit_rate: [{ ...error(429, 130429, 'Rate limit hit'), headers: { 'retry-after': '2' } }],
  drop_after_taking: ['drop'],
  never_answer: ['never_answer'],
}

describeProvider('whatsapp-cloud', async () => {
  const far = await openWhatsAppEmulator()
  const http = createHttpClient({ allowedPrivateNetworks: loopback })
  return {
    provider: httpSender(rules, http),
    goodConfig: { phoneNumberId: '106540352242922', accessToken: 'EAAJB' },
    badConfig: { phoneNumberId: '+15550783881', accessToken: 'EAAJB' },
    templates: [
      undefined,
      { language: 'de', parameters: ['a', 'b', 'a'], header: { text: 'c' } },
      { language: 'de', parameters: ['a', 'b'], named: true, header: { text: 'c' } },
      { language: 'de', parameters: ['a'], header: { image: 'c' } },
      { language: 'de', parameters: ['a'], header: { video: 'c' } },
      { language: 'de', parameters: ['a'], header: { document: 'c' } },
      {
        language: 'de',
        parameters: [],
        buttons: [
          { index: 0, type: 'url', key: 'a' },
          { index: 1, type: 'quick_reply', key: 'b' },
          { index: 9, type: 'copy_code', key: 'c' },
        ],
      },
      { language: 'de', parameters: ['a'], buttons: [{ index: 0, type: 'otp', key: 'a' }] },
    ],
    async arrange(behaviour, delivery) {
      far.answerNext(...fakeServers[behaviour])
      return { ...delivery, config: rules.config.parse(far.config) }
    },
    taken: async (requestId) =>
      far.calls.filter(({ message }) => message?.biz_opaque_callback_data === requestId),
    async stop() {
      await far.stop()
      await http.close()
    },
  }
})

let far: Emulator<WhatsAppCall, EmulatedAnswer>
let http: HttpClient
beforeAll(async () => {
  far = await openWhatsAppEmulator()
  http = createHttpClient({ allowedPrivateNetworks: loopback })
})
afterEach(() => void far.calls.splice(0))
afterAll(async () => {
  await far.stop()
  await http.close()
})

const configOf = (changes: object = {}): WhatsAppCloudConfig =>
  rules.config.parse({ ...far.config, ...changes })

async function send(
  parts: Partial<Delivery<unknown>> = {},
  answers: EmulatedAnswer[] = [],
  limit = AbortSignal.timeout(100_000),
) {
  far.answerNext(...answers)
  const delivery = buildDelivery(rules, configOf(), parts) as Delivery<WhatsAppCloudConfig>
  const outcome = await httpSender(rules, http).send(delivery, limit)
  return { delivery, outcome, calls: [...far.calls] }
}

/** A time limit that ends once the emulator has taken so many calls, however fast the machine is. */
function untilTaken(count: number): AbortSignal {
  const limit = new AbortController()
  const taken = eventually(`call ${count}`, async () => far.calls.length >= count)
  void taken.catch(() => {}).then(() => limit.abort())
  return limit.signal
}

describe('the config', () => {
  const least = { phoneNumberId: '106540352242922', accessToken: 'EAAJB' }

  test('has defaults', () => {
    expect(rules.config.parse(least)).toEqual({
      ...least,
      apiVersion: 'v23.0',
      defaultLanguage: 'en_US',
      baseUrl: 'https://graph.facebook.com',
    })
  })

  test('is accepted whole, with the base URL stripped of its trailing slash', () => {
    const given = {
      ...least,
      apiVersion: 'v24.0',
      defaultLanguage: 'de',
      baseUrl: 'http://127.0.0.1:8080/x/',
    }
    expect(rules.config.parse(given)).toEqual({ ...given, baseUrl: 'http://127.0.0.1:8080/x' })
  })

  test.each([
    ['an unknown field', { retries: 3 }, [], /retries/],
    ['no id', { phoneNumberId: undefined }, ['phoneNumberId'], /./],
    ['a phone number', { phoneNumberId: '+15550783881' }, ['phoneNumberId'], /not the number itself/],
    ['an id as a number', { phoneNumberId: 106540352242922 }, ['phoneNumberId'], /./],
    ['no token', { accessToken: undefined }, ['accessToken'], /./],
    ['an empty token', { accessToken: '' }, ['accessToken'], /access token/],
    ['a token with a line break', { accessToken: 'EAAJB\nX: y' }, ['accessToken'], /one line/],
    ['a token with a space', { accessToken: 'Bearer EAAJB' }, ['accessToken'], /without spaces/],
    ['a version without v', { apiVersion: '23.0' }, ['apiVersion'], /v23\.0/],
    ['a version with a path', { apiVersion: 'v23.0/x' }, ['apiVersion'], /v23\.0/],
    ['a language in words', { defaultLanguage: 'English' }, ['defaultLanguage'], /en_US/],
    ['a language with a hyphen', { defaultLanguage: 'en-US' }, ['defaultLanguage'], /en_US/],
    ['a base URL without a protocol', { baseUrl: 'graph.facebook.com' }, ['baseUrl'], /URL/],
    ['a user in the base URL', { baseUrl: 'https://a:b@example.com' }, ['baseUrl'], /user name/],
    ['a query in the base URL', { baseUrl: 'https://example.com?a=b' }, ['baseUrl'], /query/],
    ['no host in the base URL', { baseUrl: 'https:///x' }, ['baseUrl'], /URL/],
  ])('is refused, and its one fault named: %s', (_, changes, path, message) => {
    const { error } = rules.config.safeParse({ ...least, ...changes })
    expect(error?.issues).toMatchObject([{ path, message: expect.stringMatching(message) }])
  })
})

describe('a registered template', () => {
  const plain = { language: 'en', parameters: [] }
  const aButton = { index: 0, type: 'url', key: 'a' }
  const oneTime = { language: 'en', parameters: ['code'], buttons: [{ index: 0, type: 'otp', key: 'code' }] }

  test.each([
    [{ language: 'de', parameters: ['name', 'code', 'name'] }, ['name', 'code']],
    [{ language: 'pt_BR', parameters: [] }, []],
    [{ language: 'en_US', parameters: ['first_name'], named: true }, ['first_name']],
    [{ language: 'de', parameters: ['name'], header: { text: 'shop' } }, ['shop', 'name']],
    [{ language: 'de', parameters: ['name'], header: { image: 'picture' } }, ['picture', 'name']],
    [
      { language: 'de', parameters: ['name'], buttons: [{ index: 1, type: 'url', key: 'order' }] },
      ['name', 'order'],
    ],
    [{ language: 'de', parameters: ['code'], buttons: [{ index: 0, type: 'otp', key: 'code' }] }, ['code']],
  ])('%j needs %j', (definition, variables) => {
    expect(rules.template.definition.safeParse(definition).success).toBe(true)
    expect(rules.template.variablesOf(definition)).toEqual(variables)
  })

  test.each([
    [{ parameters: [] }, ['language']],
    [{ language: 'English', parameters: [] }, ['language']],
    [{ language: 'en' }, ['parameters']],
    [{ language: 'en', parameters: [''] }, ['parameters', 0]],
    [{ language: 'en', parameters: Array(101).fill('a') }, ['parameters']],
    [{ language: 'en', parameters: ['a', 'a'], named: true }, ['parameters']],
    [{ language: 'en', parameters: [], named: 'yes' }, ['named']],
    [{ language: 'en', parameters: [], text: 'Hello' }, []],
    [{ ...plain, header: {} }, ['header']],
    [{ ...plain, header: { text: 'a', image: 'b' } }, ['header']],
    [{ ...plain, header: { text: 'a', audio: 'b' } }, ['header']],
    [{ ...plain, header: { text: '' } }, ['header', 'text']],
    [{ ...plain, buttons: [{ ...aButton, index: 10 }] }, ['buttons', 0, 'index']],
    [{ ...plain, buttons: [{ ...aButton, index: -1 }] }, ['buttons', 0, 'index']],
    [{ ...plain, buttons: [{ ...aButton, index: '0' }] }, ['buttons', 0, 'index']],
    [{ ...plain, buttons: [{ ...aButton, type: 'phone_number' }] }, ['buttons', 0, 'type']],
    [{ ...plain, buttons: [{ index: 0, type: 'url' }] }, ['buttons', 0, 'key']],
    [{ ...plain, buttons: [aButton, { ...aButton, key: 'b' }] }, ['buttons']],
    [{ ...plain, buttons: [0, 1].map((index) => ({ index, type: 'copy_code', key: 'a' })) }, ['buttons']],
    [{ ...oneTime, parameters: [] }, ['parameters']],
    [{ ...oneTime, parameters: ['name'] }, ['parameters']],
    [{ ...oneTime, parameters: ['code', 'name'] }, ['parameters']],
    [{ ...oneTime, header: { text: 'a' } }, ['header']],
    [{ ...oneTime, buttons: [...oneTime.buttons, { ...aButton, index: 1 }] }, ['buttons']],
  ])('%j is refused', (definition, path) => {
    const { error } = rules.template.definition.safeParse(definition)
    expect(error?.issues).toMatchObject([{ path }])
  })

  const everything = {
    language: 'en',
    parameters: ['name'],
    header: { text: 'title' },
    buttons: [
      { index: 0, type: 'url', key: 'page' },
      { index: 1, type: 'quick_reply', key: 'reply' },
      { index: 2, type: 'copy_code', key: 'coupon' },
    ],
  }
  const withHeader = (type: string) => ({ ...plain, header: { [type]: 'link' } })
  const files = ['image', 'video', 'document'].flatMap(
    (type): [object, string, string, RegExp | undefined][] => [
      [withHeader(type), 'link', 'https://example.com/a.bin', undefined],
      [withHeader(type), 'link', 'ftp://example.com/a.bin', /http/],
      [withHeader(type), 'link', 'a.bin', /http/],
      [withHeader(type), 'link', 'http://127.0.0.1/a.bin', /not public/],
      [withHeader(type), 'link', 'https://user@example.com/a.bin', /user name/],
      [withHeader(type), 'link', `https://example.com/${'a'.repeat(2048)}`, /2048/],
      [withHeader(type), 'link', '', /./],
    ],
  )

  test.each<[object, string, string, RegExp | undefined]>([
    [everything, 'name', 'Ann', undefined],
    [everything, 'name', '', /empty/],
    [everything, 'name', 'two\nlines', /line break/],
    [everything, 'name', 'x'.repeat(1024), undefined],
    [everything, 'name', 'x'.repeat(1025), /at most 1024 characters in a body beside/],
    [{ ...plain, parameters: ['name'] }, 'name', 'x'.repeat(4096), undefined],
    [everything, 'title', 'x'.repeat(60), undefined],
    [everything, 'title', 'x'.repeat(61), /at most 60 characters in the header/],
    [everything, 'title', '', /empty/],
    [everything, 'page', 'orders/7?x=y', undefined],
    [everything, 'page', '', /empty/],
    [everything, 'page', 'a b', /white space/],
    [everything, 'page', 'x'.repeat(2049), /2048/],
    [everything, 'reply', 'STOP\nNOW', undefined],
    [everything, 'reply', '', /empty/],
    [everything, 'coupon', '25OFF', undefined],
    [everything, 'coupon', 'x'.repeat(20), undefined],
    [everything, 'coupon', 'x'.repeat(21), /at most 20 characters as a code to copy/],
    [everything, 'coupon', '', /empty/],
    [everything, 'coupon', 'two\nlines', /line break/],
    [oneTime, 'code', 'J$FpnYnP1234567', undefined],
    [oneTime, 'code', 'J$FpnYnP12345678', /at most 15 characters/],
    [oneTime, 'code', '', /empty/],
    ...files,
  ])('%j: %s may be %j, unless %s', (definition, key, value, issue) => {
    const given = rules.template.valueIssue?.({ key, value }, definition)
    if (issue) expect(given).toMatch(issue)
    else expect(given).toBeUndefined()
  })

  test('a key of two places has to suit both', () => {
    const both = { ...plain, parameters: ['name'], header: { text: 'name' } }
    expect(rules.template.valueIssue?.({ key: 'name', value: 'x'.repeat(61) }, both)).toMatch(/60/)
    expect(rules.template.variablesOf(both)).toEqual(['name'])
  })
})

describe('a message is one request', () => {
  const link = 'https://example.com/file'
  const variables = [
    { key: 'code', value: '1234' },
    { key: 'name', value: 'Ann' },
  ]
  const template = (definition?: object): Message => ({
    type: 'template',
    template: { name: 'welcome', variables, definition },
  })
  const filled = (definition: object, values: Record<string, string>): Message => ({
    type: 'template',
    template: {
      name: 'welcome',
      definition,
      variables: Object.entries(values).map(([key, value]) => ({ key, value })),
    },
  })
  const sentTemplate = (...components: object[]) => ({
    type: 'template',
    template: { name: 'welcome', language: { code: 'de' }, components },
  })
  const body = (...parameters: object[]) => [
    { type: 'body', parameters: parameters.map((one) => ({ type: 'text', ...one })) },
  ]

  test.each<[string, Message, object]>([
    ['text', { type: 'text', text: { value: 'Grüße 👋' } }, { type: 'text', text: { body: 'Grüße 👋' } }],
    ...(['image', 'video'] as const).map((mediaType): [string, Message, object] => [
      `${mediaType} by a link`,
      { type: 'media', media: { mediaType, mediaUrl: link, caption: 'See', filename: 'a.bin' } },
      { type: mediaType, [mediaType]: { link, caption: 'See' } },
    ]),
    [
      'document by a link',
      { type: 'media', media: { mediaType: 'document', mediaUrl: link, caption: 'See', filename: 'a.pdf' } },
      { type: 'document', document: { link, caption: 'See', filename: 'a.pdf' } },
    ],
    [
      'audio by a link',
      { type: 'media', media: { mediaType: 'audio', mediaUrl: link, caption: '', filename: 'a.mp3' } },
      { type: 'audio', audio: { link } },
    ],
    [
      'template that is not registered, its variables as given',
      template(),
      {
        type: 'template',
        template: {
          name: 'welcome',
          language: { code: 'en_US' },
          components: body({ text: '1234' }, { text: 'Ann' }),
        },
      },
    ],
    [
      'registered template, its variables in its order',
      template({ language: 'de', parameters: ['name', 'code', 'name'] }),
      {
        type: 'template',
        template: {
          name: 'welcome',
          language: { code: 'de' },
          components: body({ text: 'Ann' }, { text: '1234' }, { text: 'Ann' }),
        },
      },
    ],
    [
      'registered template, its variables by name',
      template({ language: 'de', parameters: ['name', 'code'], named: true }),
      {
        type: 'template',
        template: {
          name: 'welcome',
          language: { code: 'de' },
          components: body({ text: 'Ann', parameter_name: 'name' }, { text: '1234', parameter_name: 'code' }),
        },
      },
    ],
    ...(['image', 'video', 'document'] as const).map((type): [string, Message, object] => [
      `registered template with a ${type}`,
      filled({ language: 'de', parameters: ['name'], header: { [type]: 'link' } }, { name: 'Ann', link }),
      sentTemplate(
        { type: 'header', parameters: [{ type, [type]: { link } }] },
        { type: 'body', parameters: [{ type: 'text', text: 'Ann' }] },
      ),
    ]),
    [
      'registered template with a text header, by name',
      filled({ language: 'de', parameters: [], named: true, header: { text: 'shop' } }, { shop: 'Acme' }),
      sentTemplate({
        type: 'header',
        parameters: [{ type: 'text', text: 'Acme', parameter_name: 'shop' }],
      }),
    ],
    [
      'registered template with buttons',
      filled(
        {
          language: 'de',
          parameters: [],
          buttons: [
            { index: 2, type: 'url', key: 'page' },
            { index: 0, type: 'quick_reply', key: 'reply' },
            { index: 1, type: 'copy_code', key: 'coupon' },
          ],
        },
        { page: 'orders/7', reply: 'STOP', coupon: '25OFF' },
      ),
      sentTemplate(
        {
          type: 'button',
          sub_type: 'url',
          index: '2',
          parameters: [{ type: 'text', text: 'orders/7' }],
        },
        {
          type: 'button',
          sub_type: 'quick_reply',
          index: '0',
          parameters: [{ type: 'payload', payload: 'STOP' }],
        },
        {
          type: 'button',
          sub_type: 'copy_code',
          index: '1',
          parameters: [{ type: 'coupon_code', coupon_code: '25OFF' }],
        },
      ),
    ],
    [
      'one-time code, in the text and in its button',
      filled(
        { language: 'de', parameters: ['code'], buttons: [{ index: 0, type: 'otp', key: 'code' }] },
        { code: 'J$FpnYnP' },
      ),
      sentTemplate(
        { type: 'body', parameters: [{ type: 'text', text: 'J$FpnYnP' }] },
        {
          type: 'button',
          sub_type: 'url',
          index: '0',
          parameters: [{ type: 'text', text: 'J$FpnYnP' }],
        },
      ),
    ],
    [
      'template without variables',
      { type: 'template', template: { name: 'hello_world', variables: [] } },
      { type: 'template', template: { name: 'hello_world', language: { code: 'en_US' } } },
    ],
  ])('%s', async (_, message, content) => {
    const { delivery, outcome, calls } = await send({ message })
    expect(outcome).toEqual({
      outcome: 'sent',
      providerMessageId: expect.stringMatching(/^wamid\./),
      providerStatus: 200,
    })
    expect(calls).toMatchObject([
      {
        method: 'POST',
        path: '/v23.0/106540352242922/messages',
        headers: {
          authorization: `Bearer ${far.config.accessToken}`,
          'content-type': 'application/json',
          'user-agent': expect.stringMatching(/^outbound-messaging-api\/\d+\.\d+\.\d+$/),
        },
      },
    ])
    expect(calls[0]?.message).toStrictEqual({
      messaging_product: 'whatsapp',
      recipient_type: 'individual',
      to: '+4915112345678',
      biz_opaque_callback_data: delivery.requestId,
      ...content,
    })
  })

  test('in the language, by the version and at the address of the channel', async () => {
    const config = configOf({
      baseUrl: `${far.config.baseUrl}/proxy/`,
      apiVersion: 'v24.0',
      defaultLanguage: 'de',
    })
    const { calls } = await send({ message: template(), config })
    expect(calls).toMatchObject([
      { path: '/proxy/v24.0/106540352242922/messages', message: { template: { language: { code: 'de' } } } },
    ])
  })
})

describe('media that came as base64', () => {
  const content = Buffer.from([0, 255, 13, 10, 45, 45, 0])
  const media = (fields: object = {}): Partial<Delivery<unknown>> => ({
    message: {
      type: 'media',
      media: { mediaType: 'image', mimetype: 'image/png', sizeBytes: content.length, ...fields },
    },
    mediaContent: content,
  })

  test.each([
    ['image', 'image/png', 'image/png', { caption: 'See' }],
    ['video', 'Video/MP4; codecs="avc1"', 'video/mp4', { caption: 'See' }],
    ['audio', 'audio/x-m4a', 'audio/mp4', {}],
    ['document', 'application/pdf', 'application/pdf', { caption: 'See', filename: 'Grüße "1".pdf' }],
  ])('%s is uploaded, then sent by its id', async (mediaType, mimetype, type, named) => {
    const { delivery, outcome, calls } = await send(media({ mediaType, mimetype, ...named }))
    expect(outcome).toMatchObject({ outcome: 'sent', providerMessageId: expect.stringMatching(/^wamid\./) })
    const [upload, message] = calls
    expect(calls).toHaveLength(2)
    expect(upload).toMatchObject({
      method: 'POST',
      path: '/v23.0/106540352242922/media',
      headers: {
        authorization: `Bearer ${far.config.accessToken}`,
        'content-type': expect.stringMatching(/^multipart\/form-data; boundary=/),
        'content-length': expect.stringMatching(/^\d+$/),
      },
    })
    const filename = 'filename' in named ? named.filename : 'media'
    expect(upload?.media).toEqual({
      fields: { messaging_product: 'whatsapp', type },
      file: { filename, type, content },
    })
    expect(message?.message).toMatchObject({
      type: mediaType,
      biz_opaque_callback_data: delivery.requestId,
      [mediaType]: { id: expect.stringMatching(/^\d+$/), ...named },
    })
  })

  test('is sent also where there is a link beside it', async () => {
    const { calls } = await send(media({ mediaUrl: 'https://example.com/file' }))
    expect(calls[1]?.message?.image).toEqual({ id: expect.any(String) })
  })

  test('is uploaded whole, however large', async () => {
    const large = Buffer.alloc(16 * 1024 * 1024, 'large')
    const { calls, outcome } = await send({
      ...media({ mediaType: 'document', mimetype: 'text/plain' }),
      mediaContent: large,
    })
    expect(outcome.outcome).toBe('sent')
    expect(calls[0]?.media?.file?.content.equals(large)).toBe(true)
  })

  test("whose type WhatsApp refuses is rejected, with the provider's reason", async () => {
    const { outcome, calls } = await send(media({ mediaType: 'document', mimetype: undefined }))
    expect(outcome).toMatchObject({
      outcome: 'rejected',
      reason: expect.stringMatching(/^the media could not be uploaded: .*application\/octet-stream/),
      providerStatus: 400,
      providerCode: '100',
    })
    expect(calls).toHaveLength(1)
  })

  test.each<[string, EmulatedAnswer, object]>([
    ['dropped', 'drop', { outcome: 'retry_later' }],
    ['never answered', 'never_answer', { outcome: 'retry_later' }],
    ['answered without an id', { status: 200, body: { ok: true } }, { outcome: 'retry_later' }],
    ['refused for now', error(500, 131016, 'Service unavailable'), { outcome: 'retry_later' }],
    ['refused with its type', error(400, 131053, 'Media upload error'), { outcome: 'rejected' }],
    ['refused for good', error(400, 100, 'Invalid parameter'), { outcome: 'rejected' }],
    [
      'refused with the channel',
      graphError(401, 190, 'Error validating access token: Session has expired.'),
      { outcome: 'channel_refused' },
    ],
    ['redirected', { status: 302 }, { outcome: 'rejected' }],
  ])('whose upload is %s is not uncertain, and no message is sent', async (_, answer, expected) => {
    const limit = answer === 'never_answer' ? untilTaken(1) : undefined
    const { outcome, calls } = await send(media(), [answer], limit)
    expect(outcome).toMatchObject({ ...expected, reason: expect.stringMatching(/^the media could not be/) })
    expect(calls).toHaveLength(1)
  })

  test('and whose message is dropped is uncertain', async () => {
    const { outcome, calls } = await send(media(), [{ delayMs: 0 }, 'drop'])
    expect(outcome).toMatchObject({ outcome: 'uncertain' })
    expect(calls).toHaveLength(2)
  })

  test('upload and message share one time limit', async () => {
    const both = await timed(() => send(media(), [{ delayMs: 0 }, 'never_answer'], untilTaken(2)))
    expect(both.outcome.outcome).toBe('uncertain')
    expectSooner(both, 1000)
    const { outcome } = await send(media(), ['never_answer'], AbortSignal.timeout(400))
    expect(outcome.outcome).toBe('retry_later')
  })
})

const refusing = [0, 3, 10, 33, 102, 190, 200, 250, 299, 368, 131005, 131031, 131037, 131042, 131045, 133010]
const limits = [4, 17, 341, 80007, 130429, 131048, 131057, 131064, 133016, 2494100]
const faultyMessages = [
  ...[100, 131008, 131009, 131051, 131053, 131063, 132000, 132001, 132005, 132007, 132012],
  ...[132018, 132068, 134011, 135000],
]
const unreachable = [130472, 130497, 131021, 131026, 131030, 131047, 131049, 131050]
test.each(
  (
    [
      ['channel_refused', 'sender', refusing],
      ['retry_later', 'provider', [1, 2, 131000, 131016]],
      ['retry_later', 'sender', limits],
      ['retry_later', 'recipient', [131056]],
      ['retry_later', 'message', [132069]],
      ['rejected', 'recipient', unreachable],
      ['rejected', 'sender', [132015, 132016]],
      ['rejected', 'message', faultyMessages],
    ] as const
  ).flatMap(([outcome, fault, codes]) => codes.map((code) => [code, outcome, fault] as const)),
)('code %i is %s by the fault of the %s, whatever the status', async (code, outcome, fault) => {
  for (const status of [400, 401, 403, 429, 500]) {
    const { outcome: result } = await send({}, [error(status, code, 'Some title')])
    expect(result).toMatchObject({ outcome, fault, providerStatus: status, providerCode: String(code) })
  }
})

test('a phone number id that does not exist, or that the token may not use, holds the channel', async () => {
  const { outcome } = await send({ config: configOf({ phoneNumberId: '106540352242923' }) })
  expect(outcome).toMatchObject({ outcome: 'channel_refused', fault: 'sender', providerCode: '100' })
  const ofMessage = graphError(400, 100, 'Invalid parameter', { error_subcode: 2494010 })
  expect((await send({}, [ofMessage])).outcome.outcome).toBe('rejected')
})

test('media that WhatsApp could not process is not uploaded again', async () => {
  const { outcome, calls } = await send(
    {
      message: { type: 'media', media: { mediaType: 'image', mimetype: 'image/png', sizeBytes: 5 } },
      mediaContent: Buffer.from('Hello'),
    },
    [error(400, 131053, 'Media upload error')],
  )
  expect(outcome).toMatchObject({ outcome: 'rejected', fault: 'message' })
  expect(calls).toHaveLength(1)
})

test.each([
  [300, 'rejected'],
  [302, 'rejected'],
  [400, 'rejected'],
  [401, 'channel_refused'],
  [403, 'channel_refused'],
  [404, 'rejected'],
  [408, 'retry_later'],
  [413, 'rejected'],
  [429, 'retry_later'],
  [500, 'retry_later'],
  [502, 'retry_later'],
  [503, 'retry_later'],
])('a code that is not listed, or none, counts by its status: %i is %s', async (status, outcome) => {
  const answers = [
    error(status, 999_999, 'Some title'),
    { status },
    { status, body: '<html>Bad' },
    { status, body: { error: 'no' } },
    { status, body: { error: { code: 'x', message: 7, error_data: 'y' } } },
  ]
  for (const answer of answers) {
    const { outcome: result } = await send({}, [answer])
    expect(result).toMatchObject({ outcome, providerStatus: status, reason: expect.stringMatching(/./) })
  }
})

test.each([
  [400, 999_999, 'retry_later'],
  [403, 999_999, 'retry_later'],
  [400, 131026, 'rejected'],
  [401, 190, 'channel_refused'],
])('a temporary error (%i, code %i) is %s: its code comes first', async (status, code, outcome) => {
  const { outcome: result } = await send({}, [graphError(status, code, 'Some title', { is_transient: true })])
  expect(result.outcome).toBe(outcome)
})

test.each([
  [429, 130429, '7', 7000],
  [503, 131016, '7', 7000],
  [400, 131056, undefined, undefined],
  [429, 131048, undefined, 900_000],
  [429, 131048, '7', 900_000],
  [429, 131048, '3600', 3_600_000],
  [429, 131064, undefined, 900_000],
])('an answer %i with code %i and Retry-After %s waits %s ms', async (status, code, after, retryAfterMs) => {
  const headers = after === undefined ? {} : { 'retry-after': after }
  const { outcome } = await send({}, [{ ...error(status, code, 'Rate limit hit'), headers }])
  expect(outcome).toMatchObject({ outcome: 'retry_later', retryAfterMs })
})

test.each([
  ['{"messages":[{"id":"wamid.1"}]}', 'wamid.1'],
  ['{"messages":[{"id":7}]}', undefined],
  ['{"messages":[{"id":""}]}', undefined],
  ['{"messages":[null]}', undefined],
  ['{"messages":{"id":"wamid.1"}}', undefined],
  ['{"messages":[]}', undefined],
  ['null', undefined],
  ['', undefined],
  ['<html>OK', undefined],
])('a 2xx that says %s is sent, with the id %s', async (body, providerMessageId) => {
  const { outcome } = await send({}, [{ status: 200, body }])
  expect(outcome).toEqual({ outcome: 'sent', providerMessageId, providerStatus: 200 })
})

test.each([
  ['accepted', undefined],
  ['held_for_quality_assessment', 'held_for_quality_assessment'],
  ['paused', 'paused'],
  ['of a later release', undefined],
  [7, undefined],
])('the state of a message that WhatsApp accepted is recorded: %s', async (message_status, providerCode) => {
  const body = { messages: [{ id: 'wamid.1', message_status }] }
  const { outcome } = await send({}, [{ status: 200, body }])
  expect(outcome).toEqual({
    outcome: 'sent',
    providerMessageId: 'wamid.1',
    providerStatus: 200,
    providerCode,
  })
})

test('a refused connection is tried later', async () => {
  const { outcome } = await send({ config: configOf({ baseUrl: 'http://127.0.0.1:1' }) })
  expect(outcome).toEqual({ outcome: 'retry_later', fault: 'provider', reason: 'the connection was refused' })
})

describe('the reason', () => {
  const reasonOf = async (answer: EmulatedAnswer) => {
    const { outcome } = await send({}, [answer])
    return 'reason' in outcome ? outcome.reason : undefined
  }

  test('has the title of the code, without the details, which may repeat the message', async () => {
    const answer = error(400, 132012, 'Parameter format does not match', 'body: "Ann" does not match')
    expect(await reasonOf(answer)).toBe(
      'WhatsApp answered 400 with its code 132012: Parameter format does not match',
    )
  })

  test("returns the provider's own words where it refuses the channel", async () => {
    const title = 'Error validating access token: Session has expired on Friday, 02-Feb-24 10:00:00 PST.'
    expect(await reasonOf(graphError(401, 190, title))).toBe(
      `WhatsApp answered 401 with its code 190: ${title}`,
    )
    const details = 'There was an error related to your payment method.'
    expect(await reasonOf(error(400, 131042, 'Business eligibility payment issue', details))).toBe(
      `WhatsApp answered 400 with its code 131042: Business eligibility payment issue; ${details}`,
    )
    expect(await reasonOf(error(400, 131031, 'Business Account locked', 'Business account locked.'))).toBe(
      'WhatsApp answered 400 with its code 131031: Business Account locked',
    )
  })

  test('says where to fix a redirect', async () => {
    expect(await reasonOf({ status: 302 })).toMatch(/redirect \(302\).*baseUrl/)
  })

  test.each([
    () => `Malformed access token ${far.config.accessToken}`,
    () => 'Malformed access token EAAJB1otherTokenThatIsLong0123456789',
    () => 'The number +4915112345678 is not valid',
    () => 'The number 49 151 1234 5678 is not valid',
    () => 'The number (4915) 112-345-678 is not valid',
    () => 'Could not fetch https://example.com/file?token=s3cret',
  ])('never repeats a credential, a phone number or an address', async (title) => {
    for (const code of [190, 100, 131016]) {
      const { outcome } = await send({}, [graphError(400, code, title(), { details: title() })])
      expect(JSON.stringify(outcome)).not.toMatch(/EAAJB|12345678|1234 5678|345-678|s3cret/)
      expect(JSON.stringify(outcome)).toContain('…')
    }
  })
})

describe('the emulator refuses', () => {
  const good = { messaging_product: 'whatsapp', to: '+4915112345678', type: 'text', text: { body: 'Hi' } }
  const post = async (body: unknown, headers: Record<string, string> = {}, path = 'messages') => {
    const response = await fetch(`${far.config.baseUrl}/v23.0/${far.config.phoneNumberId}/${path}`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${far.config.accessToken}`,
        'content-type': 'application/json',
        ...headers,
      },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    })
    const { error } = (await response.json()) as { error?: { code: number } }
    return [response.status, error?.code]
  }

  const template = (...texts: string[]) => ({
    ...good,
    type: 'template',
    text: undefined,
    template: {
      name: 'welcome',
      language: { code: 'en' },
      components: [{ type: 'body', parameters: texts.map((text) => ({ type: 'text', text })) }],
    },
  })

  test.each<[string, unknown, Record<string, string>, string, number, number | undefined]>([
    ['nothing of a good template', template('Ann', 'a    gap'), {}, 'messages', 200, undefined],
    ['an empty variable', template('Ann', ''), {}, 'messages', 400, 131008],
    ['a line break in a variable', template('two\nlines'), {}, 'messages', 400, 132018],
    ['a tab in a variable', template('a\ttab'), {}, 'messages', 400, 132018],
    ['more than four spaces in a variable', template('a     gap'), {}, 'messages', 400, 132018],
    ['nothing of a good message', good, {}, 'messages', 200, undefined],
    ['a token that is not its own', good, { authorization: 'Bearer x' }, 'messages', 401, 190],
    ['another path', good, {}, 'message', 400, 2500],
    ['another content type', JSON.stringify(good), { 'content-type': 'text/plain' }, 'messages', 400, 131008],
    ['what is no JSON', '{', {}, 'messages', 400, 131008],
    ['an unknown field', { ...good, retries: 3 }, {}, 'messages', 400, 100],
    ['an unknown field of the text', { ...good, text: { body: 'Hi', x: 1 } }, {}, 'messages', 400, 100],
    ['a missing field', { ...good, to: undefined }, {}, 'messages', 400, 131008],
    ['a missing text', { ...good, text: undefined }, {}, 'messages', 400, 131008],
    ['a text too long', { ...good, text: { body: 'x'.repeat(4097) } }, {}, 'messages', 400, 131009],
    ['a wrong type', { ...good, text: { body: 7 } }, {}, 'messages', 400, 131009],
    ['an upload that is no form', good, {}, 'media', 400, 100],
    ['media never uploaded', { ...good, type: 'image', image: { id: '7' } }, {}, 'messages', 400, 100],
  ])('%s', async (_, body, headers, path, status, code) => {
    expect(await post(body, headers, path)).toEqual([status, code])
  })
})

describe('its receipts', () => {
  const config = {
    phoneNumberId: '106540352242922',
    accessToken: 'token',
    appSecret: 'a'.repeat(32),
    verifyToken: 'verify',
  }
  const message = { id: 'wamid.HBgNNDkxNTExMjM0NTY3OA', to: contactPhone.slice(1), callbackData: aRequestId }

  /** Signed by another implementation: WebCrypto. */
  async function signed(body: string | Buffer): Promise<ReceiptRequest> {
    const key = await webcrypto.subtle.importKey(
      'raw',
      Buffer.from(config.appSecret),
      { name: 'HMAC', hash: 'SHA-256' },
      false,
      ['sign'],
    )
    const bytes = Buffer.from(body)
    const signature = Buffer.from(await webcrypto.subtle.sign('HMAC', key, bytes)).toString('hex')
    return {
      headers: { 'content-type': 'application/json', 'x-hub-signature-256': `sha256=${signature}` },
      target: '/receipts/1',
      body: bytes,
      publicBaseUrl: undefined,
      nowMs: 0,
    }
  }

  const withValue = (value: object, field = 'messages') =>
    JSON.stringify({ object: 'whatsapp_business_account', entry: [{ id: '1', changes: [{ value, field }] }] })
  const metadata = { display_phone_number: '15550783881', phone_number_id: config.phoneNumberId }

  describeReceipts('whatsapp-cloud', {
    config,
    otherConfig: { ...config, appSecret: 'b'.repeat(32) },
    offConfig: { phoneNumberId: config.phoneNumberId, accessToken: config.accessToken },
    words: { sent: 'accepted', delivered: 'delivered', read: 'read', played: 'read', failed: 'undelivered' },
    request: (requestId, status) =>
      signed(statusReport('', config, [{ status, of: { ...message, callbackData: requestId } }]).body),
    unexpected: {
      'an inbound message': () =>
        signed(
          withValue({
            metadata,
            messages: [{ from: '4915112345678', id: 'wamid.x', type: 'text', text: { body: 'Hi' } }],
          }),
        ),
      'a change of a template': () =>
        signed(withValue({ event: 'APPROVED' }, 'message_template_status_update')),
      'an unknown status': () =>
        signed(withValue({ metadata, statuses: [{ id: 'wamid.x', status: 'teleported' }] })),
      'another object': () => signed('{"object":"page","entry":[]}'),
      'no entry': () => signed('{}'),
    },
    unreadable: {
      'no JSON': () => signed('statuses=delivered'),
      'invalid UTF-8': () => signed(Buffer.from([0x7b, 0xff, 0x7d])),
      'JSON that is no object': () => signed('12'),
      'an empty body': () => signed(''),
    },
    sign: (request) => request,
  })

  async function read(statuses: unknown[]) {
    const found = await whatsAppReceipts.read(await signed(withValue({ metadata, statuses })), config)
    if ('issue' in found) throw new Error(found.issue)
    return found
  }

  test('a malformed status costs none of the others', async () => {
    const good = {
      id: 'wamid.1',
      status: 'delivered',
      timestamp: '1750263773',
      biz_opaque_callback_data: aRequestId,
    }
    const found = await read([good, null, 12, { id: 'wamid.2' }, { ...good, status: 'read' }])
    expect(found.unreadable).toBe(3)
    expect(found.receipts.map(({ kind }) => kind)).toEqual(['delivered', 'read'])
  })

  test('a field that is no text or number costs its receipt nothing else', async () => {
    const odd = { toString: 1 }
    const { receipts } = await read([
      {
        id: odd,
        status: 'failed',
        timestamp: odd,
        biz_opaque_callback_data: aRequestId,
        errors: [{ code: odd }],
      },
    ])
    expect(receipts).toMatchObject([
      { requestId: aRequestId, providerAt: null, providerCode: null, providerMessageId: null },
    ])
  })

  test('the time is the provider’s, the code its own, and the reason in our words', async () => {
    const { receipts } = await read([
      {
        id: 'wamid.1',
        status: 'failed',
        timestamp: '1750263773',
        biz_opaque_callback_data: aRequestId,
        errors: [{ code: 131026, title: 'Message undeliverable to +4915112345678' }],
      },
    ])
    expect(receipts).toMatchObject([
      {
        providerAt: '2025-06-18T16:22:53.000Z',
        providerCode: '131026',
        providerMessageId: 'wamid.1',
        sender: config.phoneNumberId,
      },
    ])
    expect(receipts[0]?.reason).toMatch(/./)
    expect(receipts[0]?.reason).not.toContain('4915')
  })

  test('a status without our id is a receipt of no send', async () => {
    const { receipts } = await read([{ id: 'wamid.1', status: 'delivered' }])
    expect(receipts).toMatchObject([{ requestId: '' }])
  })

  test('a channel shares receipts only with the same app, for the number that the receipt names', () => {
    const other = { ...config, phoneNumberId: '222' }
    expect(whatsAppReceipts.areShared?.('222', config, other)).toBe(true)
    expect(whatsAppReceipts.areShared?.('333', config, other)).toBe(false)
    expect(whatsAppReceipts.areShared?.('222', config, { ...other, appSecret: 'c'.repeat(32) })).toBe(false)
    expect(
      whatsAppReceipts.areShared?.(
        '222',
        { ...config, appSecret: undefined },
        { ...other, appSecret: undefined },
      ),
    ).toBe(false)
  })

  test.each([
    ['the right token', 'hub.mode=subscribe&hub.challenge=1158201444&hub.verify_token=verify', '1158201444'],
    ['another token', 'hub.mode=subscribe&hub.challenge=1&hub.verify_token=other', undefined],
    ['another mode', 'hub.mode=unsubscribe&hub.challenge=1&hub.verify_token=verify', undefined],
    ['nothing', '', undefined],
  ])('the handshake with %s', (_, query, answer) => {
    expect(whatsAppReceipts.answerCheck?.(new URLSearchParams(query), config)).toBe(answer)
  })
})

test('a number at 360dialog is called at its address with its key in a header, for messages and media', () => {
  const given = {
    phoneNumberId: '1',
    accessToken: 'd360-key',
    keyHeader: 'D360-API-KEY',
    baseUrl: 'https://waba-v2.360dialog.io',
  }
  const config = rules.config.parse(given)
  const media = { mediaType: 'image', mimetype: 'image/png', sizeBytes: 3 } as const
  const delivery = {
    ...buildDelivery(rules, config, { message: { type: 'media', media }, mediaContent: Buffer.from('png') }),
    config,
  }
  const requests = [requestFor(delivery, {} as CallContext, '7'), upload.request(delivery)]
  expect(requests.map((request) => request?.url)).toEqual([
    'https://waba-v2.360dialog.io/messages',
    'https://waba-v2.360dialog.io/media',
  ])
  for (const request of requests) {
    expect(request?.headers['d360-api-key']).toBe('d360-key')
    expect(request?.headers).not.toHaveProperty('authorization')
  }
})

test('no other header takes the key', () => {
  const given = { phoneNumberId: '1', accessToken: 'key', keyHeader: 'Host' }
  expect(rules.config.safeParse(given).error?.issues).toMatchObject([{ path: ['keyHeader'] }])
})
