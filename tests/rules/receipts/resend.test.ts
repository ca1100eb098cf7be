import { randomUUID } from 'node:crypto'
import { Webhook } from 'standardwebhooks'
import { expect, test } from 'vitest'
import type { ReadReceipts, ReceiptRequest } from '../../../src/core/receipts/receipt.ts'
import { eventReport } from '../../../src/providers/resend/dev/reports.ts'
import { resend } from '../../../src/providers/resend/index.ts'
import { resendReceipts } from '../../../src/providers/resend/receipts.ts'
import { aRequestId, contactMail, describeReceipts } from './contract.ts'

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
