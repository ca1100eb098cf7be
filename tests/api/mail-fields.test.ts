import { eq } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { updateChannel } from '../../db/accounts/channels.ts'
import { setTemplate } from '../../db/accounts/templates.ts'
import { sends } from '../../db/schema.ts'
import { replaySend } from '../../db/sends/replays.ts'
import { eraseContact } from '../../db/upkeep/erase.ts'
import type { AttemptOutcome } from '../../src/core/sends/outcome.ts'
import {
  attemptedSend,
  beginAttempt,
  endAttempt,
  received,
  rowOf,
  sweepOnce,
  timelineOf,
} from '../support/attempts.ts'
import { accept, buildAccount, buildWebhookChannel, post, textBody } from '../support/builders.ts'
import { expectError } from '../support/expect-error.ts'
import { buildChain, unreachable } from '../support/fallbacks.ts'
import { inSeconds, makeDue, moveDue, postBatch } from '../support/later.ts'
import { openMailReceivers } from '../support/mail-receivers.ts'
import { buildProviderChannel } from '../support/provider-channel.ts'
import { finishedTimeline, serviceOfFile } from '../support/service.ts'
import { answer } from '../support/webhook-receiver.ts'
import { expectAccepted, expectReplay, newKey, postKeyed } from './keyed.ts'

const service = await serviceOfFile({ ALLOWED_PRIVATE_NETWORKS: '127.0.0.0/8' })
const { db } = service.runtime
const account = await buildAccount(service)
const { receiver, mailServer } = await openMailReceivers()

let people = 0
const mailBody = (email: object, text = 'Hello') => ({
  ...textBody(text, `ann${people++}@example.com`),
  email,
})

const email = {
  subject: 'Grüße',
  html: '<p>Hello</p>\r\n<p>Zebrastreifen</p>',
  fromName: 'Acme',
  replyTo: 'help@example.com',
  headers: { 'X-Order': '4711' },
  tags: { kind: 'order' },
}

const stored = async (requestId: string) => (await rowOf(service, requestId)).message

test('what a client says of a mail is kept with its message: at once, later, and in a batch', async () => {
  const later = await accept(service, account, { ...mailBody(email), sendAt: inSeconds(3600) })
  await makeDue(service, later)
  await moveDue(service)
  const batch = await postBatch(service, account, [{ channelId: account.channelId, ...mailBody(email) }])
  const ids = [later, await accept(service, account, mailBody(email)), batch.body.messages[0].requestId]
  for (const requestId of ids)
    expect(await stored(requestId)).toEqual({ type: 'text', text: { value: 'Hello' }, email })
})

test('a send without it, with null or with an empty object has none', async () => {
  expect(await stored(await accept(service, account, textBody()))).not.toHaveProperty('email')
  const { email: _, ...body } = mailBody({})
  expect(await stored(await accept(service, account, { ...body, email: null }))).not.toHaveProperty('email')
  expect(await stored(await accept(service, account, mailBody({})))).toMatchObject({ email: {} })
})

test('a registered template and media keep it too', async () => {
  const definition = { text: 'Hi' }
  await setTemplate(db, { channelId: account.channelId, name: 'hi', definition })
  const { contact } = mailBody({})
  const template = { type: 'template', template: { name: 'hi' } }
  const media = { type: 'media', media: { mediaType: 'document', base64: 'QUJD' } }
  const { html: _, ...others } = email
  for (const message of [template, media]) {
    const requestId = await accept(service, account, { contact, message, email: others })
    expect(await stored(requestId)).toMatchObject({ type: message.type, email: others })
  }
})

test.each([
  [{ ...textBody(), email: {} }, 'email: only to a contact of the type email'],
  [mailBody({ subject: '' }), 'email.subject: is empty'],
  [mailBody({ subject: 'x'.repeat(999) }), 'email.subject: at most 998 characters'],
  [mailBody({ subject: 'a\r\nBcc: b@example.com' }), 'email.subject: contains a control character'],
  [mailBody({ html: '' }), 'email.html: is empty'],
  [mailBody({ html: 'x'.repeat(262_145) }), 'email.html: at most 262144 characters'],
  [mailBody({ fromName: 'a\nb' }), 'email.fromName: contains a control character'],
  [mailBody({ replyTo: 'Ann <ann@example.com>' }), 'email.replyTo: has to be an e-mail address'],
  [mailBody({ headers: { Bcc: 'b@example.com' } }), /^email\.headers: each name has to be X-….*Precedence$/],
  [mailBody({ headers: { 'X-A': 'a\r\nBcc: b' } }), 'email.headers.X-A: contains a control character'],
  [mailBody({ headers: { 'X-A': 'a', 'x-a': 'b' } }), 'email.headers: contains a header twice'],
  [mailBody({ headers: { 'Auto-Submitted': 'x' } }), /^email\.headers\.Auto-Submitted: has to be no,/],
  [mailBody({ headers: { 'In-Reply-To': 'x' } }), /^email\.headers\.In-Reply-To: has to be <id@host>/],
  [mailBody({ tags: { 'a b': 'c' } }), /^email\.tags: each name has to be/],
  [mailBody({ tags: { a: 'b c' } }), 'email.tags.a: has to be 1 to 256 of letters, digits, _ and -'],
  [mailBody({ cc: 'b@example.com' }), 'email.cc: unknown field'],
])('the body %j is a 400 that names the field', async (body, message) => {
  expectError(await post(service, account, body), 400, message)
})

test('html is only beside a text', async () => {
  const { contact } = mailBody({})
  const message = { type: 'template', template: { name: 'welcome' } }
  const answer = await post(service, account, { contact, message, email: { html: '<p>' } })
  expectError(answer, 400, 'email.html: only beside a message of the type text')
})

test('html of 262,144 characters and a subject of 998 are taken', async () => {
  const most = { html: 'x'.repeat(262_144), subject: 'x'.repeat(998) }
  const requestId = await accept(service, account, mailBody(most))
  expect(await stored(requestId)).toMatchObject({ email: most })
})

test('a channel that sends no mail refuses it by the name of the field, whatever the contact', async () => {
  const config = { accountSid: `AC${'0'.repeat(32)}`, authToken: '0'.repeat(32), from: '+15005550006' }
  const channelId = await buildProviderChannel(service, account.accountId, 'twilio', config)
  for (const body of [mailBody({}), { ...textBody(), email: {} }])
    expectError(
      await post(service, { ...account, channelId }, body),
      400,
      'email: this channel sends no mail',
    )
})

test('a channel of Resend refuses the tag that it sets itself', async () => {
  const config = { apiKey: 're_1', from: 'hello@example.org' }
  const channelId = await buildProviderChannel(service, account.accountId, 'resend', config)
  const answer = await post(service, { ...account, channelId }, mailBody({ tags: { requestId: 'a' } }))
  expectError(answer, 400, 'email.tags.requestId: this channel sets it; use another name')
})

test.each([
  'X-SMTPAPI',
  'x-mc-template',
  'X-Mailgun-Drop-Message',
  'X-PM-Message-Stream',
  'X-SES-CONFIGURATION-SET',
  'X-MSYS-API',
])(
  '%s, by which a vendor of mail takes commands, is refused by channels of mail servers and vendors',
  async (name) => {
    const body = mailBody({ headers: { 'X-Order': '1', [name]: '{}' } })
    const configs = {
      smtp: mailServer.config,
      resend: { apiKey: 're_1', from: 'hello@example.org' },
    }
    for (const [provider, config] of Object.entries(configs)) {
      const channelId = await buildProviderChannel(service, account.accountId, provider as 'smtp', config)
      expectError(
        await post(service, { ...account, channelId }, body),
        400,
        `email.headers.${name}: a mail vendor would read it as a command; leave it out, or use a name of your own`,
      )
    }
    // A webhook and the sandbox run no commands.
    await accept(service, account, body)
  },
)

test('another subject is another request', async () => {
  const key = newKey()
  const body = mailBody(email)
  const requestId = expectAccepted(await postKeyed(service, account, key, body))
  const turned = { ...email, headers: { ...email.headers } }
  expectReplay(await postKeyed(service, account, key, { ...body, email: turned }), requestId)
  expectError(await postKeyed(service, account, key, { ...body, email: { ...email, subject: 'B' } }), 422)
})

test('neither the log nor a refused request repeats it', async () => {
  await accept(service, account, mailBody({ subject: 'Nashorn', headers: { 'X-Nashorn': 'Nashorn' } }))
  await post(service, account, mailBody({ subject: 'Nashorn', headers: { 'X-Nashorn': 'Nashorn\n' } }))
  expect(JSON.stringify(service.logs)).not.toMatch(/nashorn/i)
})

test('a webhook gets it as it was posted, beside the message; the sandbox and a mail server get it too', async () => {
  const worker = await service.startWorker()
  const url = receiver.at(answer(200))
  const webhook = await buildWebhookChannel(service, account.accountId, url, 'resend')
  const smtp = await buildProviderChannel(service, account.accountId, 'smtp', mailServer.config)
  const end = async (channelId: string) => {
    const requestId = await accept(service, { ...account, channelId }, mailBody(email))
    expect(await finishedTimeline(service, requestId, account.apiKey)).toMatchObject({ status: 'sent' })
    return requestId
  }
  const [call] = receiver.callsOf(await end(webhook))
  expect(JSON.parse(call?.body ?? '')).toMatchObject({
    message: { type: 'text', text: { value: 'Hello' } },
    email,
  })
  expect(JSON.parse(call?.body ?? '').message).not.toHaveProperty('email')
  const [kept] = await received(service, await end(account.channelId))
  expect(kept?.message).toMatchObject({ email })
  const requestId = await end(smtp)
  const mail = mailServer.calls.find(({ mail }) => mail?.headers['message-id']?.includes(requestId))?.mail
  expect(mail?.headers).toMatchObject({ subject: 'Grüße', 'reply-to': 'help@example.com', 'x-order': '4711' })
  expect(mail?.parts[1]?.content.toString()).toBe(email.html)
  await worker.stop()
})

const refused: AttemptOutcome = { outcome: 'rejected', fault: 'recipient', reason: 'no' }

test('a replay sends the same mail again', async () => {
  const requestId = await accept(service, account, mailBody(email))
  await endAttempt(service, await beginAttempt(service, requestId, 'a'), refused)
  await replaySend(db, requestId)
  expect((await beginAttempt(service, requestId, 'a')).message).toMatchObject({ email })
})

test('a fallback from mail to mail carries it', async () => {
  const { account: by, channels } = await buildChain(service)
  const requestId = await attemptedSend(service, by, unreachable, mailBody(email))
  expect(await timelineOf(service, requestId)).toMatchObject({ sentThrough: channels[1] })
  expect((await beginAttempt(service, requestId, 'next')).message).toMatchObject({ email })
})

test('a fallback that sends no mail is not used, and the reason says so', async () => {
  const { account: by, channels } = await buildChain(service)
  const config = { accountSid: `AC${'0'.repeat(32)}`, authToken: '0'.repeat(32), from: '+15005550006' }
  const fallbackChannelId = await buildProviderChannel(service, by.accountId, 'twilio', config)
  await updateChannel(db, channels[0] ?? '', { fallbackChannelId })
  const requestId = await attemptedSend(service, by, unreachable, mailBody(email))
  const { status, reason } = await timelineOf(service, requestId)
  expect([status, reason]).toEqual(['failed', expect.stringContaining('email: this channel sends no mail')])
  await sweepOnce(service)
})

test('an erased contact’s mail is gone', async () => {
  const own = await buildAccount(service)
  const body = mailBody(email)
  const requestId = await accept(service, own, body)
  await endAttempt(service, await beginAttempt(service, requestId, 'a'), refused)
  const contact = { type: 'email', value: body.contact.value } as const
  await eraseContact(db, { accountId: own.accountId, contact })
  const [row] = await db.select().from(sends).where(eq(sends.requestId, requestId))
  expect(JSON.stringify(row?.message)).not.toMatch(/Zebrastreifen|Acme|4711/)
})
