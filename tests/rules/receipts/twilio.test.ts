import twilioPackage from 'twilio'
import { expect, test } from 'vitest'
import type { ReceiptRequest } from '../../../src/core/receipts/receipt.ts'
import { receiptsLink } from '../../../src/core/receipts/receipts-link.ts'
import { receiptCodes } from '../../../src/providers/twilio/codes.ts'
import { statusCallback } from '../../../src/providers/twilio/dev/reports.ts'
import { overrides, twilioReceipts } from '../../../src/providers/twilio/receipts.ts'
import { cpuMsOf } from '../../support/cpu-time.ts'
import { aRequestId, contactPhone, describeReceipts } from './contract.ts'

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
  expect(isProven(signed({ ...fields, MediaUrl: ['b', 'a', 'b'], Body: 'Grüße 👋 + &=%', Empty: '' }))).toBe(
    true,
  )
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
