import { webcrypto } from 'node:crypto'
import { expect, test } from 'vitest'
import type { ReceiptRequest } from '../../../src/core/receipts/receipt.ts'
import { statusReport } from '../../../src/providers/vonage/dev/reports.ts'
import { vonage } from '../../../src/providers/vonage/index.ts'
import { vonageReceipts } from '../../../src/providers/vonage/receipts.ts'
import { aRequestId, contactPhone, describeReceipts } from './contract.ts'

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
