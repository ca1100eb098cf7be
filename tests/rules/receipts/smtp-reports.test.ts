import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import type { ReadReceipts } from '../../../src/core/receipts/receipt.ts'
import { smtpReceipts } from '../../../src/providers/smtp/receipts.ts'
import { aRequestId } from '../providers/receipts-contract.ts'

const reports = 'tests/rules/receipts/reports'

/** A report as a mail system makes it, of our mail: with CRLF, as mail has it. */
const sample = (name: string) =>
  readFileSync(`${reports}/${name}.eml`, 'utf8').replaceAll('REQUEST_ID', aRequestId).replaceAll('\n', '\r\n')

async function read(mail: string): Promise<ReadReceipts> {
  const request = {
    headers: { 'content-type': 'message/rfc822' },
    target: '/receipts/1',
    body: Buffer.from(mail),
    publicBaseUrl: undefined,
    nowMs: 0,
  }
  return (await smtpReceipts.read(request, {})) as ReadReceipts
}

/** A report with this content of its message/delivery-status. */
const reportOf = (status: string) =>
  sample('no-message-fields').replace(
    /Action: failed[\s\S]*?\r\n\r\n/,
    `${status.replaceAll('\n', '\r\n')}\r\n`,
  )

test.each([
  ['another-uuid-in-delivered-to', '5.1.1', 'there is no such mailbox'],
  ['no-message-fields', '5.1.1', 'there is no such mailbox'],
  ['space-before-colon-one-group', '5.1.1', 'there is no such mailbox'],
  ['policy-5.7.9', '5.7.9', expect.stringMatching(/policy.*reputation.*authentication/)],
  ['encoded-global', '5.1.2', expect.stringMatching(/domain/)],
  ['exim-no-part', '5.1.1', 'there is no such mailbox'],
  ['google-no-part', '550', expect.stringMatching(/no such mailbox/)],
  ['qmail', '5.1.1', 'there is no such mailbox'],
  ['yahoo', '554', 'there is no such mailbox'],
  ['sendmail-no-part', '5.1.1', 'there is no such mailbox'],
  ['quoted-reply', '5.7.1', expect.stringMatching(/policy/)],
])('the report %s is read as failed, with its code', async (name, providerCode, reason) => {
  for (const mail of [sample(name), sample(name).replaceAll('\r\n', '\n')]) {
    expect(await read(mail)).toMatchObject({
      receipts: [
        { requestId: aRequestId, kind: 'undelivered', providerStatus: 'failed', providerCode, reason },
      ],
      unexpected: 0,
      unreadable: 0,
    })
  }
})

test.each([
  [
    '5.2.1',
    '550-5.2.1 The user you are trying to contact is receiving mail at a rate that',
    'too many mails',
  ],
  ['4.2.1', '450 4.2.1 The user you are trying to contact is receiving mail too quickly', 'too many mails'],
  ['5.2.1', '550 5.2.1 The email account that you tried to reach is disabled', 'the mailbox is disabled'],
  ['4.2.0', '450 4.2.0 Requested mail action not taken: mailbox unavailable', 'not available now'],
  ['5.2.1', '550 5.2.1 The email account that you tried to reach is inactive.', 'the mailbox is disabled'],
  ['5.2.1', '550 5.2.1 no', 'disabled, or gets too many'],
  ['5.4.1', '550 5.4.1 Recipient address rejected: Access denied. [AM5.eop]', 'server refuses the address'],
  ['5.1.1', '550 5.1.1 mailbox temporarily unavailable', 'takes no mail now'],
  ['5.0.350', '550 5.0.350 Remote server returned an error -> 550 No such user', 'no such mailbox'],
  [
    '5.1.10',
    '550 5.1.10 RESOLVER.ADR.RecipientNotFound; Recipient not found by SMTP address lookup',
    'no such mailbox',
  ],
  ['5.1.10', '556 5.1.10 Recipient address has null MX', 'domain accepts no mail'],
  [
    '5.1.351',
    '550 5.1.351 Remote server returned unknown recipient or mailbox unavailable',
    'no such mailbox',
  ],
  ['5.5.0', '550 5.5.0 Requested action not taken: mailbox unavailable', 'no such mailbox'],
  [
    '5.5.0',
    '550 5.5.0 Adresse d au moins un destinataire invalide. Invalid recipient. OFR_416',
    'no such mailbox',
  ],
  ['5.1.1', '550 5.1.1 recipient address rejected: mailbox is full', 'mailbox is full'],
  ['5.1.1', '550 5.1.1 blocked for its spam', 'policy'],
  ['5.1.1', '550 5.1.1 User unknown, see our policy', 'no such mailbox'],
  ['5.0.0', '552 over quota', 'mailbox is full'],
  ['5.1.2', '550 5.1.2 unknown user', 'domain'],
  ['5.2.1', '550 5.2.1 This mailbox has been blocked due to inactivity', 'the mailbox is disabled'],
  ['5.0.0', '550 The account has been closed', 'the mailbox is disabled'],
  ['5.0.0', '550 Your account has been suspended', 'policy forbids it'],
  ['5.0.0', '550 Benutzer unbekannt', 'no such mailbox'],
])('a reason never contradicts the reply: %s %s', async (code, reply, reason) => {
  const { receipts } = await read(
    reportOf(`Action: failed\nStatus: ${code}\nDiagnostic-Code: smtp; ${reply}\n`),
  )
  expect(receipts).toMatchObject([{ kind: 'undelivered', reason: expect.stringContaining(reason) }])
})

test.each([
  'Return-Path: <bounce+ID@example.org>',
  'Original-Mail-From: bounce+ID@example.org',
  'List-Unsubscribe: <https://example.org/u?id=ID>',
])('the send of a returned mail whose Message-ID a relay replaced is found by %s', async (header) => {
  const mail = [
    'From: MAILER-DAEMON@mx.example',
    'To: bounces@example.org',
    'Subject: Undelivered',
    'MIME-Version: 1.0',
    'Content-Type: multipart/report; report-type=delivery-status; boundary="b"',
    '',
    '--b',
    'Content-Type: message/delivery-status',
    '',
    'Final-Recipient: rfc822; ann@example.com',
    'Action: failed',
    'Status: 5.1.1',
    '',
    '--b',
    'Content-Type: text/rfc822-headers',
    '',
    header.replace('ID', aRequestId),
    'Message-ID: <0100abc-000000@relay.example>',
    '',
    '--b--',
    '',
  ].join('\r\n')
  const { receipts } = await read(mail)
  expect(receipts).toMatchObject([{ requestId: aRequestId, kind: 'undelivered' }])
})

test('of all the samples, exactly those suppress that say that there is no such contact', async () => {
  const names = readdirSync(reports).map((file) => file.replace('.eml', ''))
  const causes: Record<string, unknown> = {}
  for (const name of names) {
    const { receipts } = await read(sample(name))
    const cause = receipts.map(({ suppresses }) => suppresses).find(Boolean)
    if (cause) causes[name] = cause
  }
  expect(causes).toEqual({
    'another-uuid-in-delivered-to': 'bounce',
    'encoded-global': 'bounce',
    'exchange-online': 'bounce',
    'exim-no-part': 'bounce',
    gmail: 'bounce',
    'google-no-part': 'bounce',
    'no-message-fields': 'bounce',
    postfix: 'bounce',
    qmail: 'bounce',
    'rfc3464-e2': 'bounce',
    'sendmail-no-part': 'bounce',
    'space-before-colon-one-group': 'bounce',
    yahoo: 'bounce',
  })
})

test.each(['google-delay', 'quoted-passing-reply', 'quoted-in-forward', 'read-report'])(
  'in doubt nothing is read: %s',
  async (name) => {
    expect(await read(sample(name))).toEqual({ receipts: [], unexpected: 1, unreadable: 0 })
  },
)

test.each([
  'auto-replied',
  'Auto-Replied',
  ' auto-replied; owner-email="ann.example@example.com"',
  'auto-replied (vacation)',
])('an automatic reply to the return path is only told: %j', async (word) => {
  for (const name of ['out-of-office', 'google-delay', 'quoted-passing-reply', 'read-report']) {
    const mail = sample(name)
      .replace(/Auto-Submitted: .*\r\n/, '')
      .replace('From:', `Auto-Submitted: ${word}\r\nFrom:`)
    const { receipts, ...others } = await read(mail)
    expect(others, name).toEqual({ unexpected: 0, unreadable: 0 })
    expect(receipts).toEqual([
      {
        requestId: aRequestId,
        kind: 'noted',
        providerStatus: 'auto-replied',
        providerAt: expect.stringMatching(/^2026-11-23T/),
        providerCode: null,
        providerMessageId: null,
      },
    ])
  }
})

test.each(['no', 'auto-generated', 'auto-replied-not', 'not auto-replied', ''])(
  'nor is a mail read that is no automatic reply: Auto-Submitted: %s',
  async (word) => {
    const mail = sample('out-of-office').replace('auto-replied', word)
    expect(await read(mail)).toEqual({ receipts: [], unexpected: 1, unreadable: 0 })
  },
)

test.each(['said: 451 try again later', '421 closing', '(reason: 450 4.2.0 busy)'])(
  'nor is a text that quotes a reply of 4yz as well: %s',
  async (passing) => {
    for (const reply of ['550 unknown', '550 5.1.1 unknown']) {
      const mail = sample('quoted-reply').replace(/550 5\.7\.1 .*/, `${reply}\r\n${passing}`)
      expect(await read(mail), reply).toEqual({ receipts: [], unexpected: 1, unreadable: 0 })
    }
  },
)

test.each(['exim-no-part', 'google-no-part', 'qmail', 'yahoo', 'quoted-reply', 'out-of-office'])(
  'a text counts only if the return path names the send: %s',
  async (name) => {
    const mail = sample(name).replaceAll(`bounce+${aRequestId}@`, 'bounces@')
    expect(await read(mail)).toMatchObject({ receipts: [], unexpected: 1 })
  },
)

test.each([
  'Final-Recipient: rfc822; a@x.de\nAction: FAILED\nStatus: 5.1.1\nFinal-Recipient: rfc822; b@x.de\nAction: Expired\nStatus: 4.4.7\n',
  'Action: Failed\nStatus: 5.1.1\nFinal-Recipient: rfc822; a@x.de\nAction: expired\nFinal-Recipient: rfc822; b@x.de\nStatus: 4.4.7\n',
  'Reporting-MTA: dns; x\nOriginal-Recipient: rfc822; a@x.de\nFinal-Recipient: rfc822; a@x.de\nAction : failed\nStatus : 5.1.1 (bad destination)\nOriginal-Recipient: rfc822; b@x.de\nFinal-Recipient: rfc822; b@x.de\nAction: expired\nStatus: 4.4.7\n',
  '\nFinal-Recipient: rfc822; a@x.de\n\nAction: failed\n\nStatus:\n 5.1.1\n \nFinal-Recipient: rfc822; b@x.de\nAction: expired\nStatus: 4.4.7\n',
])('the fields of two recipients, in any order and with any blank lines: %j', async (status) => {
  const { receipts, unreadable } = await read(reportOf(status))
  expect(unreadable).toBe(0)
  expect(
    receipts.map(({ kind, providerStatus, providerCode }) => [kind, providerStatus, providerCode]),
  ).toEqual([
    ['undelivered', 'failed', '5.1.1'],
    ['undelivered', 'expired', '4.4.7'],
  ])
})

test.each([
  ['5.0.0', 'smtp; 552 5.2.2 full', '5.2.2'],
  ['5.0.0', 'smtp; 550 unknown', '5.0.0'],
  ['5.0.0', 'smtp; 550 unknown at 5.1.2.3', '5.0.0'],
  ['5.1.1', 'smtp; 550 5.7.1 no', '5.1.1'],
  ['5.0.0', "smtp; 550 5.0.0 550-'5.1.1 <a@x.de> no such user'", '5.1.1'],
  ['4.0.0 (undefined)', 'smtp; 451 4.4.1 no answer', '4.4.1'],
])('of the status %s and the diagnostic %s, the code is %s', async (status, diagnostic, code) => {
  const { receipts } = await read(
    reportOf(
      `Final-Recipient: rfc822; a@x.de\nAction: failed\nStatus: ${status}\nDiagnostic-Code: ${diagnostic}\n`,
    ),
  )
  expect(receipts).toMatchObject([{ providerCode: code }])
})

test.each(['5.7.0', '5.7.8', '5.7.9', '5.7.57', '5.7.501', '5.7.999'])(
  'a bounce of %s is explained as policy, reputation or authentication, never as a login',
  async (code) => {
    const { receipts } = await read(
      reportOf(`Final-Recipient: rfc822; a@x.de\nAction: failed\nStatus: ${code}\n`),
    )
    expect(receipts[0]?.reason).toMatch(/policy.*reputation/)
    expect(receipts[0]?.reason).not.toMatch(/login|pass\b/)
  },
)

test.each([
  ['5.0.0', '530 authentication required'],
  ['5.5.0', '535 authentication failed'],
  ['4.0.0', '454 TLS not available'],
])('nor is one of %s with the reply %s', async (code, reply) => {
  const { receipts } = await read(
    reportOf(
      `Final-Recipient: rfc822; a@x.de\nAction: failed\nStatus: ${code}\nDiagnostic-Code: smtp; ${reply}\n`,
    ),
  )
  expect(receipts[0]?.reason).toMatch(/policy.*reputation/)
})

test.each(['bounce', 'b', '', 'b+'])('the return path may have anything beside the id: %j', async (part) => {
  const mail = sample('no-message-fields').replaceAll(`bounce+${aRequestId}@`, `${part}${aRequestId}${part}@`)
  expect((await read(mail)).receipts).toMatchObject([{ requestId: aRequestId }])
})

test('each id that may be ours is kept, in order; those of other versions are not', async () => {
  const foreign = '0197f3c2-0000-7abc-8def-0123456789ab'
  const mail = `X-Original-To: 788e31c8-2be1-422f-a8d4-cf7765cc9ed7@x.de\r\nDelivered-To: ${foreign}@x.de\r\n${sample('no-message-fields')}`
  expect((await read(mail)).receipts).toMatchObject([{ requestId: foreign, otherRequestIds: [aRequestId] }])
})
