import twilioPackage from 'twilio'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Message } from '../../../src/core/messages/message.ts'
import type { ReceiptRequest } from '../../../src/core/receipts/receipt.ts'
import { receiptsLink } from '../../../src/core/receipts/receipts-link.ts'
import { parseNetwork } from '../../../src/core/requests/public-address.ts'
import type { Fault } from '../../../src/core/sends/outcome.ts'
import type { Delivery } from '../../../src/providers/delivery.ts'
import type { EmulatedAnswer } from '../../../src/providers/shared/dev/http-emulator.ts'
import { receiptCodes } from '../../../src/providers/twilio/codes.ts'
import type { TwilioConfig } from '../../../src/providers/twilio/config.ts'
import { startTwilioEmulator, type TwilioEmulator } from '../../../src/providers/twilio/dev/emulator.ts'
import { twilioError } from '../../../src/providers/twilio/dev/message.ts'
import { statusCallback } from '../../../src/providers/twilio/dev/reports.ts'
import { twilio as rules } from '../../../src/providers/twilio/index.ts'
import { overrides, twilioReceipts } from '../../../src/providers/twilio/receipts.ts'
import { createHttpClient } from '../../../workers/http/http.ts'
import { cpuMsOf } from '../../support/cpu-time.ts'
import { buildDelivery } from '../../support/deliveries.ts'
import { httpSender } from '../../support/http-sender.ts'
import { describeProvider, type FakeServer } from './contract.ts'
import { aRequestId, contactPhone, describeReceipts } from './receipts-contract.ts'

const accountSid = `AC${'0a'.repeat(16)}`
const messagingServiceSid = `MG${'0c'.repeat(16)}`
const contentSid = `HX${'0d'.repeat(16)}`
const authToken = 't0ken-of-the-account'
const from = '+15550100100'
const good = { accountSid, authToken, from }
const apiKeySid = `SK${'0e'.repeat(16)}`
const apiKeySecret = 's3cret-of-the-key'
const keyed = { accountSid, apiKeySid, apiKeySecret, from }

const loopback = [parseNetwork('127.0.0.0/8')]
const linkTo = (requestId: string) => `https://messages.example.com/media/${requestId}.1.signature`
const receiptsOf = (channelId: string, requestId: string) =>
  `https://messages.example.com/receipts/${channelId}?requestId=${requestId}`
const twilioWords = "The 'To' number +4915112345678 is not a valid phone number."

const fakeServers: Record<FakeServer, EmulatedAnswer[]> = {
  accept: [],
  reject: [twilioError(400, 21211, twilioWords)],
  fail_for_a_while: [{ status: 503 }],
  limit_rate: [{ ...twilioError(429, 20429, 'Too Many Requests'), headers: { 'retry-after': '2' } }],
  drop_after_taking: ['drop'],
  never_answer: ['never_answer'],
}

/** Its templates have to be registered, or named by their content SID. */
const registered = { contentSid, variables: { 1: 'name' } }
const withDefinition = (message: Message): Message =>
  message.type === 'template'
    ? { ...message, template: { definition: registered, ...message.template } }
    : message

describeProvider('twilio', async () => {
  const emulator = await startTwilioEmulator()
  const http = createHttpClient({ allowedPrivateNetworks: loopback })
  let before = 0
  return {
    provider: httpSender(rules, http, { mediaLink: linkTo, receiptsLink: receiptsOf }),
    goodConfig: good,
    badConfig: { accountSid, authToken },
    templates: [
      { contentSid, variables: { 1: 'a', first_name: 'b', 2: 'a' } },
      { contentSid, variables: {} },
    ],
    async arrange(behaviour, delivery) {
      before = emulator.calls.length
      emulator.answerNext(...fakeServers[behaviour])
      return { ...delivery, message: withDefinition(delivery.message), config: emulator.config }
    },
    taken: async () => emulator.calls.slice(before),
    async stop() {
      await emulator.stop()
      await http.close()
    },
  }
})

describe('a config', () => {
  const { from: _, ...senderless } = good

  test.each<[string, object]>([
    ['a number', good],
    ['null for what is absent', { ...good, messagingServiceSid: null, baseUrl: null }],
    ['a number of WhatsApp', { ...good, from: 'whatsapp:+15550100100' }],
    ['a short code', { ...good, from: '12345' }],
    ['a sender name', { ...good, from: 'Acme Shop' }],
    ['a messaging service', { ...senderless, messagingServiceSid }],
    ['a sender of a messaging service', { ...good, messagingServiceSid }],
    ['a number of WhatsApp of a service', { ...good, from: 'whatsapp:+15550100100', messagingServiceSid }],
    ['an API key in place of the token', keyed],
    ['an API key beside the token', { ...keyed, authToken }],
    ['an API key beside the token that signs receipts', { ...keyed, authToken, statusCallback: true }],
    ['a server of its own', { ...good, baseUrl: 'http://127.0.0.1:8080/twilio/' }],
  ])('is taken with %s, and reads the same after it was stored', (_, config) => {
    const stored = JSON.parse(JSON.stringify(rules.config.parse(config)))
    expect(rules.config.parse(stored)).toEqual(rules.config.parse(config))
  })

  test('reaches Twilio itself by default', () => {
    expect(rules.config.parse(good).baseUrl).toBe('https://api.twilio.com')
    expect(rules.config.parse({ ...good, baseUrl: 'http://a.example/b//' }).baseUrl).toBe(
      'http://a.example/b',
    )
  })

  test.each<[string, object, string[]]>([
    ['no account', { authToken, from }, ['accountSid']],
    ['an API key for the account', { ...good, accountSid: `SK${'0a'.repeat(16)}` }, ['accountSid']],
    ['an account SID that is too short', { ...good, accountSid: 'AC0a' }, ['accountSid']],
    ['no token', { accountSid, from }, ['authToken']],
    ['a key without its secret', { ...keyed, apiKeySecret: undefined }, ['apiKeySecret']],
    ['a secret without its key', { ...keyed, apiKeySid: null }, ['apiKeySid']],
    ['a key beside a token, without its secret', { ...good, apiKeySid }, ['apiKeySecret']],
    ['receipts without the token that signs them', { ...keyed, statusCallback: true }, ['authToken']],
    ['an account for a key', { ...keyed, apiKeySid: accountSid }, ['apiKeySid']],
    ['a secret with a space', { ...keyed, apiKeySecret: 'a b' }, ['apiKeySecret']],
    ['a token with a line break', { ...good, authToken: 'a\nb' }, ['authToken']],
    ['a token with a space', { ...good, authToken: 'a b' }, ['authToken']],
    ['no sender', senderless, ['from']],
    ['a sender without a form', { ...good, from: 'a name that is too long' }, ['from']],
    ['a number without its plus', { ...good, from: '15550100100' }, ['from']],
    ['a service of another form', { ...senderless, messagingServiceSid: 'MG1' }, ['messagingServiceSid']],
    ['a base with a user', { ...good, baseUrl: 'https://user@a.example' }, ['baseUrl']],
    ['a base with a query', { ...good, baseUrl: 'https://a.example/?b' }, ['baseUrl']],
    ['a base of another scheme', { ...good, baseUrl: 'ftp://a.example' }, ['baseUrl']],
    ['an unknown field', { ...good, sender: 'x' }, []],
  ])('is refused, and its one fault named: %s', (_, config, path) => {
    const issues = rules.config.safeParse(config).error?.issues
    expect(issues).toMatchObject([{ path }])
    expect(JSON.stringify(issues)).not.toContain(authToken)
    expect(JSON.stringify(issues)).not.toContain(apiKeySecret)
  })
})

describe('the definition of a template', () => {
  test.each<[string, object, string[]]>([
    ['numbered variables', { contentSid, variables: { 1: 'name', 2: 'code' } }, ['name', 'code']],
    ['named variables', { contentSid, variables: { first_name: 'name' } }, ['name']],
    ['one value in two places', { contentSid, variables: { 1: 'name', 2: 'name' } }, ['name']],
    ['no variables', { contentSid }, []],
  ])('is taken: %s', (_, definition, needed) => {
    const stored = JSON.parse(JSON.stringify(rules.template.definition.parse(definition)))
    expect(rules.template.variablesOf(stored)).toEqual(needed)
  })

  test.each<[object, object]>([
    [{ contentSid: 'HX1' }, { path: ['contentSid'], message: expect.stringContaining('HX and 32') }],
    [
      { contentSid, variables: { 'a b': 'name' } },
      { path: ['variables', 'a b'], message: expect.stringContaining('1 to 16 letters') },
    ],
    [
      { contentSid, variables: ['name'] },
      { path: ['variables'], message: expect.stringContaining('{"1":"name"}') },
    ],
  ])('says what to write instead of %j', (definition, issue) => {
    expect(rules.template.definition.safeParse(definition).error?.issues).toMatchObject([issue])
  })

  test.each<[string, object]>([
    ['no content SID', { variables: {} }],
    ['a content SID of another form', { contentSid: 'HX1', variables: {} }],
    ['a variable with a space', { contentSid, variables: { 'a b': 'name' } }],
    ['a variable too long', { contentSid, variables: { ['a'.repeat(17)]: 'name' } }],
    ['an empty key', { contentSid, variables: { 1: '' } }],
    ['a list of variables', { contentSid, variables: ['name'] }],
    ['an unknown field', { contentSid, variables: {}, language: 'en' }],
    [
      'more variables than a send can have',
      { contentSid, variables: Object.fromEntries(Array.from({ length: 101 }, (_, i) => [i, `k${i}`])) },
    ],
  ])('is refused: %s', (_, definition) => {
    expect(rules.template.definition.safeParse(definition).success).toBe(false)
  })

  test('is needed, unless the template is named by its content SID', () => {
    expect(rules.template.unregisteredIssue?.(contentSid)).toBeUndefined()
    expect(rules.template.unregisteredIssue?.('welcome')).toMatch(/ask the operator/)
    expect(rules.template.unregisteredIssue?.(`${contentSid}\n`)).toMatch(/ask the operator/)
  })
})

let emulator: TwilioEmulator
const http = createHttpClient({ allowedPrivateNetworks: loopback })
beforeAll(async () => {
  emulator = await startTwilioEmulator()
})
afterAll(async () => {
  await emulator.stop()
  await http.close()
})

async function send(parts: Partial<Delivery<unknown>> = {}, configChanges: object = {}) {
  const before = emulator.calls.length
  const config = rules.config.parse({ ...emulator.config, ...configChanges })
  const delivery = { ...buildDelivery(rules, config, parts), config }
  const outcome = await httpSender(rules, http, { mediaLink: linkTo, receiptsLink: receiptsOf }).send(
    delivery,
    AbortSignal.timeout(100_000),
  )
  return { outcome, delivery, calls: emulator.calls.slice(before) }
}

const media = (fields: object = {}) =>
  ({ type: 'media', media: { mediaType: 'image', ...fields } }) as Partial<Message> as Message
const template = (fields: object) => ({ type: 'template', template: fields }) as Partial<Message> as Message
const variables = [
  { key: 'name', value: 'Ann "A" Ä' },
  { key: 'code', value: '1&2=3' },
]
const mediaUrl = 'https://example.com/a%20b?c=d&e=%20'
const content = { mediaContent: Buffer.from('Hello') }
const everyType = ['image', 'video', 'document', 'audio'] as const

test.each<[string, Partial<Delivery<unknown>>, (requestId: string) => Record<string, string>]>([
  [
    'a text',
    { message: { type: 'text', text: { value: 'Grüße & 👋\n+1=2' } } },
    () => ({ Body: 'Grüße & 👋\n+1=2' }),
  ],
  [
    'a registered template',
    {
      message: template({
        name: 'x',
        variables,
        definition: { contentSid, variables: { 2: 'name', 1: 'code', 3: 'name' } },
      }),
    },
    () => ({
      ContentSid: contentSid,
      ContentVariables: '{"1":"1&2=3","2":"Ann \\"A\\" Ä","3":"Ann \\"A\\" Ä"}',
    }),
  ],
  [
    'a registered template without variables',
    { message: template({ name: 'x', variables: [], definition: { contentSid, variables: {} } }) },
    () => ({ ContentSid: contentSid }),
  ],
  [
    'a template by its content SID',
    { message: template({ name: contentSid, variables: [{ key: '1', value: 'Ann' }] }) },
    () => ({ ContentSid: contentSid, ContentVariables: '{"1":"Ann"}' }),
  ],
  [
    'a template by its content SID without variables',
    { message: template({ name: contentSid, variables: [] }) },
    () => ({ ContentSid: contentSid }),
  ],
  ...everyType.flatMap(
    (mediaType): [string, Partial<Delivery<unknown>>, (requestId: string) => Record<string, string>][] => [
      [`${mediaType} by URL`, { message: media({ mediaType, mediaUrl }) }, () => ({ MediaUrl: mediaUrl })],
      [
        `${mediaType} by base64`,
        { message: media({ mediaType, sizeBytes: 5 }), ...content },
        (requestId) => ({ MediaUrl: linkTo(requestId) }),
      ],
    ],
  ),
  [
    'base64 before a URL',
    { message: media({ sizeBytes: 5, mediaUrl }), ...content },
    (requestId) => ({ MediaUrl: linkTo(requestId) }),
  ],
  [
    'media with a caption',
    { message: media({ mediaUrl, caption: 'A dot' }) },
    () => ({ Body: 'A dot', MediaUrl: mediaUrl }),
  ],
  [
    'media with an empty caption',
    { message: media({ mediaUrl, caption: '' }) },
    () => ({ MediaUrl: mediaUrl }),
  ],
])('Twilio gets it as a form, and takes it: %s', async (_, parts, contentFields) => {
  const { outcome, delivery, calls } = await send(parts)
  const { accountSid, authToken, from } = delivery.config
  expect(calls).toMatchObject([
    {
      method: 'POST',
      path: `/2010-04-01/Accounts/${accountSid}/Messages.json`,
      headers: {
        'content-type': 'application/x-www-form-urlencoded',
        authorization: `Basic ${Buffer.from(`${accountSid}:${authToken}`).toString('base64')}`,
      },
    },
  ])
  expect([...new URLSearchParams(calls[0]?.body)]).toEqual(
    Object.entries({ To: '+4915112345678', From: from, ...contentFields(delivery.requestId) }),
  )
  expect(outcome).toEqual({
    outcome: 'sent',
    providerMessageId: expect.stringMatching(/^(SM|MM)[0-9a-f]{32}$/),
    providerStatus: 201,
  })
})

test('a messaging service stands in place of a sender', async () => {
  const { outcome, calls } = await send({}, { from: null, messagingServiceSid })
  expect(calls[0]?.form).toEqual({
    To: '+4915112345678',
    MessagingServiceSid: messagingServiceSid,
    Body: 'Hello',
  })
  expect(outcome.outcome).toBe('sent')
})

test('the sender of a service that the channel has chosen goes with the service', async () => {
  const { outcome, calls } = await send({}, { messagingServiceSid })
  expect(calls[0]?.form).toMatchObject({ From: from, MessagingServiceSid: messagingServiceSid })
  expect(outcome.outcome).toBe('sent')
})

test('a service writes by WhatsApp, from its sender of WhatsApp', async () => {
  const { outcome, calls } = await send({}, { from: 'whatsapp:+15550100100', messagingServiceSid })
  expect(calls[0]?.form).toMatchObject({
    To: 'whatsapp:+4915112345678',
    From: 'whatsapp:+15550100100',
    MessagingServiceSid: messagingServiceSid,
  })
  expect(outcome.outcome).toBe('sent')
})

test.each([
  ['in place of the token', { authToken: null }],
  ['beside a token that has been revoked', { authToken: 'revoked' }],
])('an API key logs in %s', async (_, changes) => {
  const { apiKey, config } = emulator
  const { outcome, calls } = await send({}, { ...apiKey, ...changes })
  const login = `${apiKey.apiKeySid}:${apiKey.apiKeySecret}`
  expect(calls[0]?.headers.authorization).toBe(`Basic ${Buffer.from(login).toString('base64')}`)
  expect(calls[0]?.path).toBe(`/2010-04-01/Accounts/${config.accountSid}/Messages.json`)
  expect(outcome.outcome).toBe('sent')
})

test('an API key that Twilio does not know is refused, and never repeated', async () => {
  emulator.answerNext(twilioError(401, 20003, `Authenticate: ${apiKeySecret}`))
  const { outcome } = await send({}, { authToken: null, apiKeySid, apiKeySecret })
  expect(outcome).toMatchObject({ outcome: 'channel_refused', fault: 'sender', providerCode: '20003' })
  expect(JSON.stringify(outcome)).not.toContain(apiKeySecret)
})

test.each([
  [null, undefined],
  [60_999, '60'],
  [1500, '1'],
  [400, '1'],
  [-20, '1'],
  [35_999_999, '35999'],
  [36_000_000, undefined],
  [864_000_000, undefined],
])('a send that expires in %s ms stays in the queue of Twilio for %s s', async (expiresInMs, seconds) => {
  const { outcome, calls } = await send({ expiresInMs })
  expect(calls[0]?.form.ValidityPeriod).toBe(seconds)
  expect(outcome.outcome).toBe('sent')
})

test('a sender of WhatsApp writes to the number by WhatsApp', async () => {
  const { outcome, calls } = await send({}, { from: 'whatsapp:+15550100100' })
  expect(calls[0]?.form).toMatchObject({ To: 'whatsapp:+4915112345678', From: 'whatsapp:+15550100100' })
  expect(outcome.outcome).toBe('sent')
})

// Each with Twilio's own words: https://www.twilio.com/docs/api/errors/21211 and so on.
test.each<[number, number, string, string, Fault]>([
  [429, 20429, 'Too Many Requests', 'retry_later', 'sender'],
  [400, 14107, 'SMS send rate limit exceeded', 'retry_later', 'sender'],
  [
    400,
    21611,
    "The 'From' number +15550100100 has exceeded the maximum number of queued messages",
    'retry_later',
    'sender',
  ],
  [400, 63018, 'Rate limit exceeded for Channel', 'retry_later', 'sender'],
  [429, 63038, 'Account exceeded the daily messages limit', 'retry_later', 'sender'],
  [401, 20003, 'Authenticate', 'channel_refused', 'sender'],
  [403, 20003, 'Permission Denied', 'channel_refused', 'sender'],
  [401, 20005, 'Account not active', 'channel_refused', 'sender'],
  [403, 20006, 'Access Denied', 'channel_refused', 'sender'],
  [403, 20010, 'Action disabled for account', 'channel_refused', 'sender'],
  [403, 20403, '403 Forbidden', 'channel_refused', 'sender'],
  [404, 20404, 'The requested resource was not found', 'channel_refused', 'sender'],
  [400, 21212, "Invalid 'From' Number", 'channel_refused', 'sender'],
  [
    400,
    21659,
    "'From' is not a Twilio phone number or Short Code country mismatch",
    'channel_refused',
    'sender',
  ],
  [400, 21660, "Mismatch between the 'From' number and the account", 'channel_refused', 'sender'],
  [400, 21661, "'From' number is not SMS-capable", 'channel_refused', 'sender'],
  [
    400,
    21703,
    'The Messaging Service does not have a phone number available to send a message',
    'channel_refused',
    'sender',
  ],
  [400, 21704, 'The Messaging Service contains no phone numbers', 'channel_refused', 'sender'],
  [400, 21705, 'The Messaging Service is invalid', 'channel_refused', 'sender'],
  [
    400,
    63007,
    "Twilio could not find a Channel with the specified 'From' address",
    'channel_refused',
    'sender',
  ],
  [400, 21211, twilioWords, 'rejected', 'recipient'],
  [
    400,
    21408,
    'Permission to send an SMS has not been enabled for the region indicated by the number: +491511234XXXX.',
    'rejected',
    'recipient',
  ],
  [
    400,
    21606,
    "The 'From' phone number provided (+15550100100) is not a valid message-capable Twilio phone number",
    'rejected',
    'recipient',
  ],
  [400, 21266, "'To' and 'From' number cannot be the same: +15550100100", 'rejected', 'recipient'],
  [400, 21608, 'The number +49151XXXX5678 is unverified.', 'rejected', 'recipient'],
  [400, 21635, "'To' number cannot be a landline: +49151XXXX5678", 'rejected', 'recipient'],
  [400, 21610, 'Attempt to send to unsubscribed recipient', 'rejected', 'recipient'],
  [
    400,
    21612,
    "Message cannot be sent with the current combination of 'To' (+4915112345678) and/or 'From' parameters",
    'rejected',
    'recipient',
  ],
  [400, 21614, "'To' number: +4915112345678, is not a mobile number", 'rejected', 'recipient'],
  [400, 21617, 'The concatenated message body exceeds the 1600 character limit', 'rejected', 'message'],
  [400, 21620, 'Invalid media URL(s)', 'rejected', 'message'],
  [
    400,
    63016,
    'Failed to send freeform message because you are outside the allowed window',
    'rejected',
    'recipient',
  ],
  [400, 21999, 'Something new about +4915112345678', 'rejected', 'message'],
  [500, 20500, 'An internal server error has occurred', 'retry_later', 'provider'],
  [503, 20503, 'Service unavailable', 'retry_later', 'provider'],
  [429, 99999, 'Something new', 'retry_later', 'sender'],
])(
  'an answer %i with code %i has the reason: %s: %s by the fault of the %s',
  async (status, code, words, expected, fault) => {
    emulator.answerNext(twilioError(status, code, words))
    const { outcome } = await send()
    const { accountSid, authToken } = rules.config.parse(emulator.config) as TwilioConfig
    expect(outcome).toMatchObject({
      outcome: expected,
      fault,
      providerStatus: status,
      providerCode: String(code),
    })
    const printed = JSON.stringify(outcome)
    for (const secret of ['4915112345678', '15550100100', '491511234', authToken, accountSid, 'Hello']) {
      expect(printed).not.toContain(secret)
    }
    if (expected === 'channel_refused') expect(printed).toContain(words)
    else expect(printed).not.toContain(words)
  },
)

test.each([
  ['2026-11-22T10:00:00Z', 14 * 3_600_000],
  ['2026-11-22T00:00:00Z', 24 * 3_600_000],
  ['2026-12-31T23:59:59Z', 1000],
])(
  'the limit of a day (63038), reached at %s by the clock of Twilio, ends with the day in UTC: %i ms',
  async (at, waitMs) => {
    const headers = { date: new Date(at).toUTCString(), 'retry-after': '1' }
    emulator.answerNext({ ...twilioError(429, 63038, 'Daily limit'), headers })
    const { outcome } = await send()
    expect(outcome).toMatchObject({ outcome: 'retry_later', retryAfterMs: waitMs })
  },
)

test.each<[number, string, string]>([
  [401, '', 'channel_refused'],
  [401, '<html>Unauthorized</html>', 'channel_refused'],
  [401, '{"code":null,"message":7}', 'channel_refused'],
  [400, '{"code":"21211 of +4915112345678"}', 'rejected'],
  [400, 'null', 'rejected'],
  [403, '', 'rejected'],
  [404, '[]', 'rejected'],
  [408, '', 'retry_later'],
  [429, '', 'retry_later'],
  [500, 'oops', 'retry_later'],
  [502, '', 'retry_later'],
  [599, '', 'retry_later'],
  [307, '', 'rejected'],
  [999, '', 'retry_later'],
])('an answer %i without a readable code, %j, is %s by its status', async (status, body, expected) => {
  emulator.answerNext({ status, body })
  const { outcome, calls } = await send()
  expect(outcome).toMatchObject({ outcome: expected, providerStatus: status, providerCode: undefined })
  expect(outcome).toHaveProperty('reason', expect.stringContaining(String(status)))
  expect(JSON.stringify(outcome)).not.toContain('4915112345678')
  expect(calls).toHaveLength(1)
})

test.each<[string, string, string | undefined]>([
  ['an id', '{"sid":"SM1","status":"queued"}', 'SM1'],
  ['no id', '{"status":"queued"}', undefined],
  ['an empty id', '{"sid":""}', undefined],
  ['what is no JSON', 'created', undefined],
])('a 201 with %s is sent', async (_, body, providerMessageId) => {
  emulator.answerNext({ status: 201, body })
  expect((await send()).outcome).toEqual({ outcome: 'sent', providerMessageId, providerStatus: 201 })
})

test("a refusal of the credentials has Twilio's words, without what may be a number, an id or the token", async () => {
  const { authToken, accountSid } = rules.config.parse(emulator.config)
  const numbers = '+4915112345678, +49 151 1234-5678, (0151) 12345678'
  const words = `Authenticate: ${authToken} of ${accountSid} for ${numbers} by t0ken!; see page 20003`
  emulator.answerNext(twilioError(401, 20003, words), twilioError(401, 20003, 'no t0ken! here'))
  const { outcome } = await send()
  expect(outcome).toMatchObject({ outcome: 'channel_refused' })
  expect(outcome).toHaveProperty(
    'reason',
    expect.stringMatching(/Authenticate: ….* by t0ken!; see page 20003$/),
  )
  const printed = JSON.stringify(outcome)
  for (const secret of [authToken, '0a0a0a', '12345678', '1234-5678']) expect(printed).not.toContain(secret)
  const { outcome: other } = await send({}, { authToken: 't0ken!' })
  expect(JSON.stringify(other)).not.toContain('t0ken!')
})

test('credentials that Twilio does not know are refused', async () => {
  const { outcome } = await send({}, { authToken: 'another' })
  const reason = "Twilio: the channel's credentials are not accepted: Authenticate"
  expect(outcome).toEqual({
    outcome: 'channel_refused',
    fault: 'sender',
    reason,
    providerStatus: 401,
    providerCode: '20003',
  })
})

test.each([
  [429, 20429],
  [503, 20503],
  [400, 63018],
])('Retry-After is heeded with an answer %i, code %i', async (status, code) => {
  emulator.answerNext({ ...twilioError(status, code, 'later'), headers: { 'retry-after': '7' } })
  expect((await send()).outcome).toMatchObject({ outcome: 'retry_later', retryAfterMs: 7000 })
})

test('a failed connection is tried later: nothing was sent', async () => {
  const { outcome, calls } = await send({}, { baseUrl: 'http://127.0.0.1:1' })
  expect(outcome).toEqual({ outcome: 'retry_later', fault: 'provider', reason: 'the connection was refused' })
  expect(calls).toEqual([])
})

test('an answer that comes late, within the time of the call, counts', async () => {
  emulator.answerNext({ delayMs: 100 })
  expect((await send()).outcome.outcome).toBe('sent')
})

describe('the emulator refuses', () => {
  const good = { To: '+4915112345678', From: from, Body: 'Hello' }
  const variablesOf = (variables: unknown) => ({
    To: good.To,
    From: from,
    ContentSid: contentSid,
    ContentVariables: typeof variables === 'string' ? variables : JSON.stringify(variables),
  })
  const post = async (form: object, headers: Record<string, string> = {}, path?: string, method = 'POST') => {
    const { accountSid, authToken, baseUrl } = rules.config.parse(emulator.config)
    const url = `${baseUrl}${path ?? `/2010-04-01/Accounts/${accountSid}/Messages.json`}`
    const authorization = `Basic ${Buffer.from(`${accountSid}:${authToken}`).toString('base64')}`
    const body = new URLSearchParams({ ...form }).toString()
    const response = await fetch(url, {
      method,
      headers: { authorization, 'content-type': 'application/x-www-form-urlencoded', ...headers },
      ...(method === 'POST' && { body }),
    })
    const { code } = (await response.json()) as { code?: number }
    return [response.status, code]
  }

  test.each<[string, object, number, number | undefined]>([
    ['nothing of a good message', good, 201, undefined],
    ['an unknown field', { ...good, Retries: '3' }, 400, 20001],
    ['a field in another case', { ...good, body: 'Hello' }, 400, 20001],
    ['no contact', { ...good, To: '' }, 400, 21604],
    ['a contact without its plus', { ...good, To: '4915112345678' }, 400, 21211],
    ['no sender', { ...good, From: '' }, 400, 21603],
    ['no content', { ...good, Body: '' }, 400, 21619],
    ['nothing of a validity of 10 hours', { ...good, ValidityPeriod: '36000' }, 201, undefined],
    ['a validity of more', { ...good, ValidityPeriod: '36001' }, 400, 90007],
    ['a validity of no time', { ...good, ValidityPeriod: '0' }, 400, 90007],
    ['a validity that is no whole number', { ...good, ValidityPeriod: '1.5' }, 400, 90007],
    ['a text of 1601 characters', { ...good, Body: 'x'.repeat(1601) }, 400, 21617],
    ['media without a URL', { ...good, MediaUrl: 'dot.png' }, 400, 21620],
    ['nothing of good variables', variablesOf({ 1: 'Ann', first_name: '    ' }), 201, undefined],
    ['variables that are no JSON', variablesOf('{'), 400, 21656],
    ['a list of variables', variablesOf(['Ann']), 400, 21656],
    ['a variable that is no text', variablesOf({ 1: 7 }), 400, 21656],
    ['a name that no placeholder has', variablesOf({ 'a b': 'Ann' }), 400, 21656],
    ['an empty variable', variablesOf({ 1: '' }), 400, 21656],
    ['a line break in a variable', variablesOf({ 1: 'two\nlines' }), 400, 21656],
    ['a tab in a variable', variablesOf({ 1: 'a\ttab' }), 400, 21656],
    ['more than four spaces in a variable', variablesOf({ 1: 'a     gap' }), 400, 21656],
    ['a variable of 1601 characters', variablesOf({ 1: 'x'.repeat(1601) }), 400, 21658],
  ])('%s', async (_, form, status, code) => {
    expect(await post(form)).toEqual([status, code])
  })

  test('another content type, whose fields it does not read', async () => {
    expect(await post(good, { 'content-type': 'application/json' })).toEqual([400, 21604])
    expect(await post(good, { 'content-type': 'text/plain' })).toEqual([400, 21604])
  })

  test('another path, another method and other credentials', async () => {
    const other = '/2010-04-01/Accounts/AC1/Messages.json'
    expect(await post(good, {}, other)).toEqual([404, 20404])
    expect(await post(good, {}, '/Messages.json')).toEqual([404, 20404])
    expect(await post(good, {}, undefined, 'GET')).toEqual([405, 20004])
    expect(await post(good, { authorization: 'Basic x' })).toEqual([401, 20003])
  })
})

test('with statusCallback, each message carries the address for its receipts; without, none', async () => {
  const { calls, delivery } = await send({}, { statusCallback: true })
  expect(calls).toMatchObject([
    { form: { StatusCallback: receiptsOf(delivery.channelId, delivery.requestId) + overrides } },
  ])
  const without = await send()
  expect(without.calls[0]?.form).not.toHaveProperty('StatusCallback')
})

describe('its receipts', () => {
  const { getExpectedTwilioSignature, validateRequest } = twilioPackage
  const publicBaseUrl = 'https://messages.example.com'
  const config = {
    accountSid: `AC${'0a'.repeat(16)}`,
    authToken: '1b'.repeat(16),
    from: '+15550100100',
    statusCallback: true,
  }
  const parsedConfig = { ...config, baseUrl: 'https://api.twilio.com' }
  const fields = {
    AccountSid: config.accountSid,
    ApiVersion: '2010-04-01',
    From: config.from,
    MessageSid: `SM${'2c'.repeat(16)}`,
    To: contactPhone,
  }

  /** Signed by Twilio's own package. */
  function signed(
    form: Record<string, string | string[]>,
    target = `/receipts/1?requestId=${aRequestId}`,
    url = publicBaseUrl + target,
  ): ReceiptRequest {
    const body = new URLSearchParams(
      Object.entries(form).flatMap(([name, value]) =>
        [value].flat().map((one): [string, string] => [name, one]),
      ),
    )
    return {
      headers: {
        'content-type': 'application/x-www-form-urlencoded; charset=UTF-8',
        'x-twilio-signature': getExpectedTwilioSignature(config.authToken, url, form),
        host: 'attacker.example',
      },
      target,
      body: Buffer.from(body.toString()),
      publicBaseUrl,
      nowMs: 0,
    }
  }

  describeReceipts('twilio', {
    config,
    otherConfig: { ...config, authToken: '3d'.repeat(16) },
    offConfig: { ...config, statusCallback: undefined },
    words: {
      accepted: 'accepted',
      scheduled: 'accepted',
      queued: 'accepted',
      sending: 'accepted',
      sent: 'accepted',
      delivered: 'delivered',
      read: 'read',
      undelivered: 'undelivered',
      failed: 'undelivered',
    },
    request: async (requestId, MessageStatus) =>
      signed({ ...fields, MessageStatus }, `/receipts/1?requestId=${requestId}`),
    unexpected: {
      'an inbound message': async () => signed({ ...fields, SmsStatus: 'received', Body: 'Hi' }),
      'an unknown status': async () => signed({ ...fields, MessageStatus: 'teleported' }),
      'a form without fields': async () => signed({}),
    },
    unreadable: {
      'JSON in place of a form': async () => {
        const request = signed({})
        return {
          ...request,
          headers: { ...request.headers, 'content-type': 'application/json' },
          body: Buffer.from('{}'),
        }
      },
    },
    sign: (request) => request,
  })

  const isProven = (request: ReceiptRequest) => twilioReceipts.isProven(request, parsedConfig)

  test('a form of up to 1,000 fields is proven; one of more is refused at once, before it is known who sent it', async () => {
    const form = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, index) => [`f${index}`, 'x']))
    expect(isProven(signed(form(1000)))).toBe(true)
    expect(isProven(signed(form(1001)))).toBe(false)
    const names = Array.from({ length: 700_000 }, (_, index) => index.toString(36))
    const body = Buffer.from(names.join('&'))
    const took = await cpuMsOf(() => expect(isProven({ ...signed({}), body })).toBe(false))
    expect(took).toBeLessThan(1000)
  })

  test('Twilio’s own example is proven: https://www.twilio.com/docs/usage/security', () => {
    const form = {
      CallSid: 'CA1234567890ABCDE',
      Caller: '+14158675309',
      Digits: '1234',
      From: '+14158675309',
      To: '+18005551212',
    }
    const request: ReceiptRequest = {
      headers: {
        'content-type': 'application/x-www-form-urlencoded',
        'x-twilio-signature': 'RSOYDt4T1cUTdK1PDd93/VVr8B8=',
      },
      target: '/myapp.php?foo=1&bar=2',
      body: Buffer.from(new URLSearchParams(form).toString()),
      publicBaseUrl: 'https://mycompany.com',
      nowMs: 0,
    }
    expect(twilioReceipts.isProven(request, { ...parsedConfig, authToken: '12345' })).toBe(true)
  })

  test('repeated, empty and non-ASCII fields are signed as by Twilio’s package', () => {
    expect(
      isProven(signed({ ...fields, MediaUrl: ['b', 'a', 'b'], Body: 'Grüße 👋 + &=%', Empty: '' })),
    ).toBe(true)
  })

  test.each([
    ['with the usual port', 'https://messages.example.com:443'],
    ['without the port', 'https://messages.example.com'],
  ])('the address may be signed %s', (_, base) => {
    const target = `/receipts/1?requestId=${aRequestId}`
    expect(isProven(signed(fields, target, base + target))).toBe(true)
    expect(
      isProven({
        ...signed(fields, target, base + target),
        publicBaseUrl: 'https://messages.example.com:443/',
      }),
    ).toBe(true)
  })

  test.each(['https://messages.example.com', 'https://messages.example.com:443'])(
    'the address may be signed with the fragment that it was given to Twilio with: %s',
    (base) => {
      const target = `/receipts/1?requestId=${aRequestId}`
      const { hash } = new URL(receiptsLink(base, '1', aRequestId) + overrides)
      expect(isProven(signed(fields, target, base + target + hash))).toBe(true)
      expect(isProven(signed(fields, target, `${base}${target}#rc=1`))).toBe(false)
    },
  )

  test('another host, path or query than the signed one is refused, whatever the Host header', () => {
    const target = `/receipts/1?requestId=${aRequestId}`
    expect(isProven(signed(fields, target, `https://attacker.example${target}`))).toBe(false)
    expect(isProven({ ...signed(fields), target: '/receipts/2' })).toBe(false)
    expect(
      isProven({ ...signed(fields), target: `/receipts/1?requestId=${aRequestId.replace('0', '1')}` }),
    ).toBe(false)
  })

  test('what the emulator signs, Twilio’s package validates', () => {
    const url = receiptsLink(`${publicBaseUrl}/`, 'channel', aRequestId) + overrides
    const { headers, ...report } = statusCallback(url, config.authToken, fields)
    expect(report.url).toBe(`${publicBaseUrl}/receipts/channel?requestId=${aRequestId}`)
    expect(validateRequest(config.authToken, headers['x-twilio-signature'] ?? '', report.url, fields)).toBe(
      true,
    )
  })

  test('the callback’s address is one that Twilio takes: no underscore in its host, at most 4000 characters, retries asked for', () => {
    const url = new URL(receiptsLink(publicBaseUrl, aRequestId, aRequestId) + overrides)
    expect(url.hash).toBe('#rc=5&rp=5xx,ct,rt')
  })

  test('a callback of an SMS has its segments; one of WhatsApp, or with none, has no cost', async () => {
    const costOf = async (NumSegments: string, from = '+15550100100') => {
      const read = await twilioReceipts.read(signed({ ...fields, MessageStatus: 'sent', NumSegments }), {
        ...parsedConfig,
        from,
      })
      return 'receipts' in read ? read.receipts[0]?.cost : read
    }
    expect(await costOf('2')).toEqual({ amount: null, currency: null, parts: 2 })
    expect(await costOf('0')).toBeUndefined()
    expect(await costOf('2', 'whatsapp:+15550100100')).toBeUndefined()
  })

  test('a failure has its code, its meaning in our words, and the time as Twilio gave it', async () => {
    const read = await twilioReceipts.read(
      signed({ ...fields, MessageStatus: 'undelivered', ErrorCode: '30003', RawDlrDoneDate: '2611231422' }),
      parsedConfig,
    )
    expect(read).toMatchObject({
      receipts: [
        {
          providerStatus: 'undelivered',
          providerCode: '30003',
          providerAt: '2611231422',
          providerMessageId: fields.MessageSid,
          reason: receiptCodes['30003'],
        },
      ],
    })
  })

  test.each<[string, { apiKeySid?: string; apiKeySecret?: string; authToken?: string }, string]>([
    ['the token', { authToken: 'token' }, `${config.accountSid}:token`],
    ['an API key', { apiKeySid: 'SK1', apiKeySecret: 'secret' }, 'SK1:secret'],
    [
      'an API key beside the token',
      { authToken: 'token', apiKeySid: 'SK1', apiKeySecret: 'secret' },
      'SK1:secret',
    ],
  ])('a message is fetched with %s, as it is sent', (_, login, expected) => {
    const { accountSid, baseUrl } = parsedConfig
    expect(twilioReceipts.fetching?.requestFor('SM1', { accountSid, baseUrl, ...login })).toEqual({
      url: `https://api.twilio.com/2010-04-01/Accounts/${accountSid}/Messages/SM1.json`,
      headers: {
        authorization: `Basic ${Buffer.from(expected).toString('base64')}`,
        accept: 'application/json',
      },
    })
  })

  test('a fetched message is read like a callback', () => {
    const { fetching } = twilioReceipts
    const body = JSON.stringify({
      sid: fields.MessageSid,
      status: 'undelivered',
      error_code: 30005,
      to: contactPhone,
    })
    expect(fetching?.read(aRequestId, body)).toMatchObject({
      kind: 'undelivered',
      providerCode: '30005',
      providerMessageId: fields.MessageSid,
    })
    expect(fetching?.read(aRequestId, '{"status":"teleported"}')).toBeUndefined()
    expect(fetching?.read(aRequestId, 'no JSON')).toBeUndefined()
  })
})
