import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hourMs } from '../../../src/core/durations.ts'
import type { Delivery } from '../../../src/providers/delivery.ts'
import type { SmtpConfig } from '../../../src/providers/smtp/config.ts'
import {
  openSmtpEmulator,
  type SmtpAnswer,
  type SmtpEmulator,
} from '../../../src/providers/smtp/dev/emulator.ts'
import { smtp as rules } from '../../../src/providers/smtp/index.ts'
import { createMediaFetcher } from '../../../workers/http/media-fetcher.ts'
import { createSmtpSender } from '../../../workers/providers/smtp.ts'
import { buildDelivery } from '../../support/deliveries.ts'

const media = createMediaFetcher({ allowedPrivateNetworks: [] })
let emulator: SmtpEmulator

beforeAll(async () => {
  emulator = await openSmtpEmulator()
})
afterAll(async () => {
  await emulator.stop()
  await media.close()
})

function send(answer: SmtpAnswer) {
  emulator.answerNext(answer)
  const config = rules.config.parse(emulator.config)
  const delivery = buildDelivery(rules, config, {}) as Delivery<SmtpConfig>
  return createSmtpSender(media).send(delivery, AbortSignal.timeout(20_000))
}

const steps = ['MAIL', 'RCPT', 'DATA', 'end'] as const

describe("a limit of the sending account is the sender's, at every step, and is waited for", () => {
  test.each([
    ['550 5.4.5 Daily user sending limit exceeded.', 4],
    [
      '550-5.4.5 Daily user sending limit exceeded. For more information on Gmail\n550 5.4.5 sending limits',
      4,
    ],
    ['550 5.7.1 Daily SMTP relay limit exceeded. See the limits for sending and receiving mail', 4],
    ['550 5.4.5 Daily user sending limit exceeded, unlike that of mails that you can receive', 4],
    ['421 4.7.28 Gmail has detected an unusual rate of email originating from your domain', undefined],
    ['550 5.7.28 an unusual rate of unsolicited mail', 1],
    ['550 5.7.1 Daily SMTP relay limit exceeded for customer.', 4],
    ['450 4.2.1 Peak SMTP relay limit exceeded for customer.', 1],
    [
      "550 5.1.90 Your message can't be sent because you've reached your daily limit for message recipients",
      4,
    ],
    ['554 5.2.0 STOREDRV.Submission.Exception:SubmissionQuotaExceededException; Failed to process', 1],
    ['550 5.2.122 over the hourly limit', 1],
    ['550 5.7.233 Your message was not sent: tenant exceeded its daily limit for external recipients', 4],
    ['454 Throttling failure: Daily message quota exceeded.', 4],
    ['454 Throttling failure: Maximum sending rate exceeded.', 1],
    ['451 Authentication failed: Maximum credits exceeded', 4],
    ['451 You have exceeded your messaging limits', 1],
    ['550 5.4.6 Unusual sending activity detected. Please try after sometime', undefined],
    [
      '550 Domain example.org has exceeded the max emails per hour (50/50 (100%)) allowed. Message discarded.',
      1,
    ],
    ['550 5.7.1 Exceed Sending Limit (hourly)', 1],
    ['554 5.7.1 <DATA>: Data command rejected: only 10 messages per day', 4],
    ['554 5.7.1 Data command rejected: limit of 400 rcpts per 24 hours for client a@example.org reached', 4],
    ['450 4.7.1 <ann@example.com>: Recipient address rejected: Policy Rejection- Quota Exceeded', 1],
    ['550 Sender rate overlimit - 120.0 / 1h', 1],
    ['450 4.7.1 Error: too much mail from 192.0.2.1', undefined],
    ['550 5.7.0 Requested action not taken: too many emails per second', undefined],
    ['421 4.7.0 Domain mg.example.org is probationary and limited to 100 messages / hour', 1],
    ['421 4.7.0 Domain mg.example.org is limited to 100 messages / day', 4],
    ['550 5.7.236 x', 4],
    ['552 5.2.2 Daily sending quota exceeded', 4],
    ["552 5.2.2 You have exceeded your account's daily sending limit", 4],
    ['552 5.2.2 Outgoing message quota exceeded, 500 mails per 24 hours', 4],
    ['552 5.2.2 The daily limit for sending mails is reached', 4],
    ['552 5.2.2 You have exceeded the number of e-mails you may send per day', 4],
    ["452 4.2.2 sender's hourly quota exceeded", 1],
    ['550 5.2.2 STOREDRV.Submission.Exception:SubmissionQuotaExceededException; Failed to process', 1],
    ['550 5.2.2 Submission quota exceeded', 1],
  ])('%s', async (reply, hours) => {
    for (const at of steps) {
      const outcome = await send({ at, reply })
      expect(outcome, at).toMatchObject({ outcome: 'retry_later', fault: 'sender' })
      expect('retryAfterMs' in outcome ? outcome.retryAfterMs : undefined, at).toBe(hours && hours * hourMs)
    }
  })
})

describe('a sending account that is blocked or not verified holds the channel, at every step', () => {
  test.each([
    '550 5.7.705 Access denied, tenant has exceeded threshold',
    '550 5.7.708 Access denied, traffic not accepted from this IP',
    '550 5.7.750 Service unavailable. Client blocked from sending from unregistered domains',
    '550 5.7.501 Access denied, spam abuse detected',
    '550 5.1.8 Access denied, bad outbound sender',
    '554 5.2.252 SendAsDenied; a@example.org not allowed to send as b@example.org',
    '550 5.7.60 SMTP; Client does not have permissions to send as this sender',
    '554 Message rejected: Email address is not verified. The following identities failed the check in region',
    '554 Message rejected: Sending paused for this account. For more information, please check',
    '550 The from address does not match a verified Sender Identity. Mail cannot be sent until this error',
    '550 Unauthenticated senders not allowed',
    '550 5.7.1 Unconfigured Sending Domain <example.org>',
    '554 5.7.1 The sender domain has not been validated',
    '554 5.2.0 STOREDRV.Submission.Exception:SendAsDeniedException.MapiExceptionSendAsDenied; Failed to process',
    '550 5.4.6 Outgoing mail is blocked for this account',
    '550 5.7.1 Domain example.org is not allowed to send: Free accounts are for test purposes only.',
    '550 5.7.1 Your account has been suspended',
    '550 5.7.64 TenantAttribution; Relay Access Denied [SN1NAM02FT012.example.net]',
    '550 5.7.1 TenantAttribution; Relay Access Denied',
    '550 5.7.57 SMTP; Client was not authenticated to send anonymous mail during MAIL FROM',
    '530 5.7.57 Client not authenticated to send mail. Error: 535 5.7.139',
    '550 5.7.1 Client was not authenticated',
    '550 5.7.1 Client does not have permissions to send as this sender',
  ])('%s', async (reply) => {
    for (const at of steps) {
      expect(await send({ at, reply }), at).toMatchObject({ outcome: 'channel_refused', fault: 'sender' })
    }
  })
})

test('an unverified sender is the reason, without the words of the server, which may repeat the contact', async () => {
  const outcome = await send({ at: 'end', reply: '554 Email address is not verified: ann@example.com' })
  expect(outcome).toMatchObject({
    reason: expect.stringMatching(/^the server refused the sender: the channel's from.*verify/),
  })
  expect(JSON.stringify(outcome)).not.toContain('ann@')
})

test.each([
  ['RCPT', '452 4.2.2 The email account that you tried to reach is over quota', 'retry_later', 'recipient'],
  ['RCPT', '552 5.2.2 mailbox full, quota exceeded, 100 mails per day', 'rejected', 'recipient'],
  [
    'RCPT',
    '450 4.2.1 The user you are trying to contact is receiving mail too quickly',
    'retry_later',
    'recipient',
  ],
  [
    'RCPT',
    "550 5.2.121 Recipient's per hour message receive limit from specific sender exceeded",
    'retry_later',
    'recipient',
  ],
  [
    'RCPT',
    '554 5.2.122 The recipient has exceeded their limit for the number of messages they can receive per hour',
    'retry_later',
    'recipient',
  ],
  ['RCPT', '552 5.2.2 quota exceeded', 'rejected', 'recipient'],
  ['RCPT', '552 5.2.2 Sending failed: quota exceeded', 'rejected', 'recipient'],
  ['RCPT', '552 5.2.2 sending this message exceeds the quota of the mailbox', 'rejected', 'recipient'],
  ['RCPT', '552 5.2.2 <sending-quota@example.com> daily quota exceeded', 'rejected', 'recipient'],
  ['RCPT', '552 5.2.2 Quota exceeded. Messages can be sent again in a day', 'rejected', 'recipient'],
  ['RCPT', '552 5.2.2 e-mail quota exceeded', 'rejected', 'recipient'],
  ['RCPT', '552 5.2.2 The recipient is over quota. See the sending limits', 'rejected', 'recipient'],
  ['RCPT', '452 4.2.2 Mailbox is full, or its daily limit is reached', 'retry_later', 'recipient'],
  ['end', '552 5.2.2 user quota exceeded, the sender may try later', 'rejected', 'recipient'],
  ['RCPT', '554 5.7.1 Relay access denied', 'rejected', 'recipient'],
  ['RCPT', '550 5.7.68 TenantInboundAttribution; a partner connector matched', 'rejected', 'recipient'],
  ['RCPT', '550 5.1.1 no such user', 'rejected', 'recipient'],
  ['RCPT', '550 5.2.1 The email account that you tried to reach is suspended.', 'rejected', 'recipient'],
  ['RCPT', '550 5.2.1 <ann@example.com>: this account has been suspended', 'rejected', 'recipient'],
  ['RCPT', '550 5.1.1 Recipient address rejected: user account deactivated', 'rejected', 'recipient'],
  ['RCPT', '550 the account is suspended', 'rejected', 'recipient'],
  ['RCPT', '450 4.2.1 User has exceeded his mail quota, retry in a day', 'retry_later', 'recipient'],
  ['RCPT', '451 4.7.1 Greylisting, come back in an hour, the limit is 24h', 'retry_later', 'recipient'],
  ['RCPT', '450 4.7.1 rate limit exceeded for recipient ann@example.com', 'retry_later', 'recipient'],
  ['RCPT', '550 5.1.1 <ann@example.com>: account has been deactivated', 'rejected', 'recipient'],
  ['RCPT', '550 5.2.1 This account is suspended', 'rejected', 'recipient'],
  ['RCPT', '550 ann@example.com: account suspended', 'rejected', 'recipient'],
  ['RCPT', '550 <daily-limit@example.com>: no such user', 'rejected', 'recipient'],
  ['RCPT', '550 You are not allowed to send mail to this address', 'rejected', 'recipient'],
  ['RCPT', '550 5.7.1 You are not authorized to send messages to this list', 'rejected', 'recipient'],
  ['RCPT', '450 Greylisted: at most one message per hour', 'retry_later', 'recipient'],
  ['RCPT', '550 mailbox quota exceeded', 'rejected', 'recipient'],
  ['RCPT', '450 4.7.1 greylisted, try again in 5 minutes', 'retry_later', 'recipient'],
  ['end', '552 5.3.4 Message size exceeds the maximum sending limit per message', 'rejected', 'message'],
  ['end', '554 5.6.0 mail header exceeds email limit', 'rejected', 'message'],
  ['end', '552 message exceeds email attachment limit', 'rejected', 'message'],
  ['end', '554 5.7.1 Message rejected: too many links, spam score exceeded the limit', 'rejected', 'message'],
] as const)(
  'what is about the contact or the mail stays so: at %s, %s',
  async (at, reply, outcome, fault) => {
    expect(await send({ at, reply })).toMatchObject({ outcome, fault })
  },
)
