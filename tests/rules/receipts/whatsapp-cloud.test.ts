import { webcrypto } from 'node:crypto'
import { expect, test } from 'vitest'
import type { ReceiptRequest } from '../../../src/core/receipts/receipt.ts'
import { statusReport } from '../../../src/providers/whatsapp-cloud/dev/reports.ts'
import { whatsAppReceipts } from '../../../src/providers/whatsapp-cloud/receipts.ts'
import { aRequestId, contactPhone, describeReceipts } from './contract.ts'

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
