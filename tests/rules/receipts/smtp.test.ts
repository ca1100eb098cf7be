import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import type { ReceiptRequest } from '../../../src/core/receipts/receipt.ts'
import { deliveryReport } from '../../../src/providers/smtp/dev/reports.ts'
import { smtpReceipts } from '../../../src/providers/smtp/receipts.ts'
import { cpuMsOf } from '../../support/cpu-time.ts'
import { aRequestId, contactMail, describeReceipts } from '../providers/receipts-contract.ts'

const config = {
  host: 'mail.example.org',
  from: 'outbound@example.org',
  bounceToken: 'a token of the pipe'.replaceAll(' ', '-'),
}

const posted = (mail: string | Buffer, headers: Record<string, string> = {}): ReceiptRequest => ({
  headers: { 'content-type': 'message/rfc822', authorization: `Bearer ${config.bounceToken}`, ...headers },
  target: '/receipts/1',
  body: Buffer.from(mail),
  publicBaseUrl: undefined,
  nowMs: 0,
})

const reportOn = (requestId: string, action: string) =>
  deliveryReport(
    '',
    '',
    { envelopeId: requestId, from: 'outbound@example.org', to: contactMail, headers: 'Subject: Message' },
    {
      action,
      status: action === 'failed' ? '5.1.1' : '2.0.0',
      diagnostic: `550 5.1.1 <${contactMail}>: unknown`,
    },
  ).body

/** A report as a mail system makes it, of our mail: with CRLF, as mail has it. */
const sample = (name: string) =>
  readFileSync(`tests/rules/receipts/reports/${name}.eml`, 'utf8')
    .replaceAll('REQUEST_ID', aRequestId)
    .replaceAll('\n', '\r\n')

describeReceipts('smtp', {
  config,
  otherConfig: { ...config, bounceToken: 'another-token' },
  offConfig: { host: config.host, from: config.from },
  words: {
    delivered: 'delivered',
    expanded: 'delivered',
    failed: 'undelivered',
    expired: 'undelivered',
    delayed: 'accepted',
    relayed: 'accepted',
  },
  otherWords: { 'auto-replied': 'noted', abuse: 'complained', fraud: 'complained' },
  request: async (requestId, action) => posted(reportOn(requestId, action)),
  unexpected: {
    'a report that it was read': async () => posted(sample('read-report')),
    'a mail with an attachment': async () =>
      posted(
        'From: a@example.com\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: image/png\r\n\r\nx\r\n--b--\r\n',
      ),
  },
  unreadable: {
    'another content type': async () =>
      posted(reportOn(aRequestId, 'failed'), { 'content-type': 'text/plain' }),
    'no mail': async () => posted(''),
  },
})

async function read(mail: string | Buffer) {
  const result = await smtpReceipts.read(posted(mail), config)
  if ('issue' in result) throw new Error(result.issue)
  return result
}

test.each([
  ['rfc3464-e1', 'undelivered', 'failed', '4.0.0'],
  ['rfc3464-e4-delayed', 'accepted', 'delayed', '4.0.0'],
  ['postfix', 'undelivered', 'failed', '5.1.1'],
  ['exim', 'undelivered', 'failed', '5.2.2'],
  ['gmail', 'undelivered', 'failed', '5.1.1'],
  ['exchange-online', 'undelivered', 'failed', '5.1.10'],
  ['amazon-ses', 'undelivered', 'failed', '5.7.1'],
])('a report of %s is read: %s', async (name, kind, providerStatus, providerCode) => {
  const { receipts, unexpected, unreadable } = await read(sample(name))
  expect({ unexpected, unreadable }).toEqual({ unexpected: 0, unreadable: 0 })
  expect(receipts).toMatchObject([
    { requestId: aRequestId, kind, providerStatus, providerCode, providerMessageId: null },
  ])
  expect(JSON.stringify(receipts)).not.toMatch(/ann\.example|@/)
})

test('a report of several recipients has one receipt for each', async () => {
  const { receipts } = await read(sample('rfc3464-e2'))
  expect(receipts.map(({ kind }) => kind)).toEqual(['undelivered', 'accepted', 'undelivered'])
  expect(new Set(receipts.map(({ requestId }) => requestId))).toEqual(new Set([aRequestId]))
})

test('a report with bare line feeds is read, too: a pipe may have changed them', async () => {
  const { receipts } = await read(sample('postfix').replaceAll('\r\n', '\n'))
  expect(receipts).toMatchObject([{ requestId: aRequestId, kind: 'undelivered' }])
})

test('the id that was given with the mail counts before the return path, and that before the returned Message-ID', async () => {
  const [envelope, path, message] = ['1', '2', '3'].map((digit) => aRequestId.replace(/^0/, digit)) as [
    string,
    string,
    string,
  ]
  const headers = `Message-ID: <${message}@example.org>`
  const by = (envelopeId: string | null, from: string) =>
    read(
      deliveryReport(
        '',
        '',
        { envelopeId, from, to: contactMail, headers },
        { action: 'failed', status: '5.1.1', diagnostic: 'x' },
      ).body,
    )
  const idOf = async (found: ReturnType<typeof by>) => (await found).receipts[0]?.requestId
  expect(await idOf(by(envelope, `bounce+${path}@example.org`))).toBe(envelope)
  expect(await idOf(by(null, `bounce+${path}@example.org`))).toBe(path)
  expect(await idOf(by(null, 'bounces@example.org'))).toBe(message)
})

test('a report on another mail is a receipt of no send', async () => {
  const { receipts } = await read(sample('postfix').replaceAll(aRequestId, 'another-id'))
  expect(receipts).toMatchObject([{ requestId: '' }])
})

test('an unknown action is unreadable, and costs none of the others', async () => {
  const { receipts, unreadable } = await read(sample('rfc3464-e2').replace('Action: delayed', 'Action: lost'))
  expect({ receipts: receipts.length, unreadable }).toEqual({ receipts: 2, unreadable: 1 })
})

test('of a report of very many recipients, the first 100 are read', async () => {
  const one = '\r\nFinal-Recipient: rfc822; x@example.com\r\nAction: failed\r\nStatus: 5.1.1\r\n'
  const mail = sample('rfc3464-e4-delayed').replace(/\r\nFinal-Recipient:/, `${one.repeat(150)}$&`)
  const { receipts } = await read(mail)
  expect(receipts).toHaveLength(100)
})

test('the longest mail that comes is read in time', async () => {
  const long = sample('postfix').replace('\r\nHello', `\r\n${'x'.repeat(76)}`.repeat(40_000))
  const deep = `${'Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n'.repeat(20_000)}`
  // Anyone may send such a mail. `\r` ends a line for a pattern, but not in a mail.
  const wide = sample('postfix').replace('\r\nAction:', `\r\nX:${' '.repeat(3_000_000)}x\ry\r\nAction:`)
  const took = await cpuMsOf(async () => {
    await smtpReceipts.read(posted(long), config)
    await smtpReceipts.read(posted(deep), config)
    expect((await read(wide)).receipts).toMatchObject([{ requestId: aRequestId, kind: 'undelivered' }])
  })
  expect(took).toBeLessThan(5000)
})
