import { randomBytes } from 'node:crypto'
import { Webhook } from 'standardwebhooks'
import { expect, test } from 'vitest'
import type { ReceiptRequest } from '../../../src/core/receipts/receipt.ts'
import { webhookReceipts } from '../../../src/providers/webhook/receipts.ts'
import { aRequestId, contactMail, contactPhone, describeReceipts } from './contract.ts'

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
  for (const changed of [{ 'webhook-id': 'msg_other' }, { 'webhook-timestamp': String(nowMs / 1000 + 1) }]) {
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
