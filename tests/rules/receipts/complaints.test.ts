import { expect, test } from 'vitest'
import type { ReadReceipts } from '../../../src/core/receipts/receipt.ts'
import { resendReceipts } from '../../../src/providers/resend/receipts.ts'
import { smtpReceipts } from '../../../src/providers/smtp/receipts.ts'
import { aRequestId } from '../providers/receipts-contract.ts'

/** A report of a mailbox provider about one of our mails, in the form of RFC 5965. */
const arf = (type: string, { id = aRequestId, fields = '' } = {}) =>
  [
    'From: <abusedesk@example.com>',
    'To: <complaints@example.org>',
    'Subject: FW: Earn money',
    'Date: Thu, 8 Mar 2026 17:40:36 +0000',
    'MIME-Version: 1.0',
    'Content-Type: multipart/report; report-type=feedback-report; boundary="b1"',
    '',
    '--b1',
    'Content-Type: text/plain; charset="US-ASCII"',
    '',
    'This is an email abuse report. 550 5.1.1 user unknown',
    '--b1',
    'Content-Type: message/feedback-report',
    '',
    `Feedback-Type: ${type}`,
    'User-Agent: SomeGenerator/1.0',
    'Version: 1',
    ...(fields ? [fields] : []),
    'Arrival-Date: Thu, 8 Mar 2026 14:00:00 +0000',
    '',
    '--b1',
    'Content-Type: message/rfc822',
    '',
    'From: <shop@example.org>',
    'To: <ann@example.com>',
    `Message-ID: <${id}@example.org>`,
    'Subject: Your code',
    '',
    'Hello',
    '--b1--',
    '',
  ].join('\r\n')

async function read(mail: string): Promise<ReadReceipts> {
  const headers = { 'content-type': 'message/rfc822' }
  const request = {
    headers,
    target: '/receipts/1',
    body: Buffer.from(mail),
    publicBaseUrl: undefined,
    nowMs: 0,
  }
  return (await smtpReceipts.read(request, {})) as ReadReceipts
}

test.each(['abuse', 'fraud', 'Abuse'])(
  'a report of the type %s is a complaint about its mail',
  async (type) => {
    expect(await read(arf(type))).toEqual({
      receipts: [
        {
          requestId: aRequestId,
          kind: 'complained',
          providerStatus: type.toLowerCase(),
          providerAt: '2026-03-08T14:00:00.000Z',
          providerCode: null,
          providerMessageId: null,
        },
      ],
      unexpected: 0,
      unreadable: 0,
    })
  },
)

test.each([
  `Return-Path: <bounce+${aRequestId}@example.org>`,
  `List-Unsubscribe: <https://example.org/${aRequestId}>`,
])(
  'its send is found by a header of the returned mail whose Message-ID a relay replaced: %s',
  async (header) => {
    const mail = arf('abuse', { id: '0100abc-000000' }).replace('Message-ID:', `${header}\r\nMessage-ID:`)
    const { receipts } = await read(mail)
    expect(receipts).toMatchObject([{ requestId: aRequestId, kind: 'complained' }])
  },
)

test.each([`Original-Envelope-Id: ${aRequestId}`, `Original-Mail-From: <bounce+${aRequestId}@example.org>`])(
  'its send is found by %s, too',
  async (fields) => {
    const { receipts } = await read(arf('abuse', { id: 'other', fields }))
    expect(receipts.map(({ requestId }) => requestId)).toEqual([aRequestId])
  },
)

test.each(['not-spam', 'auth-failure', 'virus', 'other', ''])(
  'a report of the type "%s" changes nothing',
  async (type) => {
    expect(await read(arf(type))).toEqual({ receipts: [], unexpected: 1, unreadable: 0 })
  },
)

test('a complaint of Resend is one, and only its permanent bounce has the code of a hard bounce', async () => {
  const of = async (type: string, bounce?: object) => {
    const body = JSON.stringify({ type, data: { tags: { requestId: aRequestId }, email_id: 'e', bounce } })
    const request = {
      headers: { 'content-type': 'application/json' },
      target: '/',
      nowMs: 0,
      publicBaseUrl: undefined,
    }
    const found = (await resendReceipts.read({ ...request, body: Buffer.from(body) }, {})) as ReadReceipts
    return found.receipts.map(({ kind, providerCode }) => ({ kind, providerCode }))
  }
  expect(await of('email.complained')).toEqual([{ kind: 'complained', providerCode: null }])
  expect(await of('email.bounced', { type: 'Permanent' })).toEqual([
    { kind: 'undelivered', providerCode: 'Permanent' },
  ])
  expect(await of('email.bounced', { type: 'Undetermined' })).toEqual([
    { kind: 'undelivered', providerCode: 'Undetermined' },
  ])
  expect(await of('email.bounced', { type: 'Transient' })).toEqual([
    { kind: 'accepted', providerCode: 'Transient' },
  ])
})
