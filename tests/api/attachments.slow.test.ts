import { eq } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { media } from '../../db/schema.ts'
import { replaySend } from '../../db/sends/replays.ts'
import { beginAttempt, endAttempt, received, rowOf, timelineOf } from '../support/attempts.ts'
import { accept, buildAccount, buildWebhookChannel, post, textBody } from '../support/builders.ts'
import { expectError } from '../support/expect-error.ts'
import { inSeconds, makeDue, moveDue, postBatch } from '../support/later.ts'
import { openMailReceivers } from '../support/mail-receivers.ts'
import { samples } from '../support/media-samples.ts'
import { buildProviderChannel } from '../support/provider-channel.ts'
import { finishedTimeline, serviceOfFile } from '../support/service.ts'
import { answer } from '../support/webhook-receiver.ts'
import { expectAccepted, expectReplay, newKey, postKeyed } from './keyed.ts'

const networks = { ALLOWED_PRIVATE_NETWORKS: '127.0.0.0/8', CLIENT_PRIVATE_NETWORKS: '127.0.0.0/8' }
const service = await serviceOfFile({ ...networks, RETRY_DELAYS_SECONDS: '0' })
const { db } = service.runtime
const account = await buildAccount(service)
const { receiver, mailServer } = await openMailReceivers()

let people = 0
const mailBody = (attachments: unknown, more: object = {}) => ({
  ...textBody('Hello', `ann${people++}@example.com`),
  email: { attachments, ...more },
})
const file = (content: Buffer, more: object = {}) => ({
  filename: 'a.bin',
  base64: content.toString('base64'),
  ...more,
})
const png = { ...file(samples.png, { filename: 'logo.png', contentId: 'logo' }) }
const pdf = file(Buffer.from('%PDF-1.7\nZebra'), { filename: 'a.pdf' })
const storedOf = async (requestId: string) =>
  (await db.select().from(media).where(eq(media.requestId, requestId)))[0]?.content

test('files are kept beside the message, after the bytes of its media, each with its recognised type', async () => {
  const { contact, email } = mailBody([png, pdf])
  const message = { type: 'media', media: { mediaType: 'document', base64: 'QUJD' } }
  const later = await accept(service, account, { contact, message, email, sendAt: inSeconds(3600) })
  await makeDue(service, later)
  await moveDue(service)
  const batch = await postBatch(service, account, [{ channelId: account.channelId, contact, message, email }])
  for (const requestId of [later, batch.body.messages[0].requestId]) {
    const row = await rowOf(service, requestId)
    expect(row.message.email?.attachments).toEqual([
      { filename: 'logo.png', contentId: 'logo', mimetype: 'image/png', sizeBytes: samples.png.length },
      { filename: 'a.pdf', mimetype: 'application/pdf', sizeBytes: 14 },
    ])
    expect(await storedOf(requestId)).toEqual(
      Buffer.concat([Buffer.from('ABC'), samples.png, Buffer.from('%PDF-1.7\nZebra')]),
    )
  }
})

test.each([
  [[{ filename: 'a' }], 'email.attachments[0]: send base64 or url'],
  [[{ base64: 'QUJD' }], 'email.attachments[0].filename: required'],
  [[{ ...pdf, filename: '../a' }], 'email.attachments[0].filename: has to be a name without a path'],
  [[pdf, { filename: 'a', base64: '!' }], /^email\.attachments\[1\]\.base64: not base64/],
  [
    [{ filename: 'a', url: 'http://169.254.169.254/' }],
    'email.attachments[0].url: contains an address that is not public',
  ],
  [[{ ...png, mimetype: 'image/jpeg' }], /^email\.attachments\[0\]\.mimetype: /],
  [[png, png], 'email.attachments: contains a contentId twice'],
  [[{ ...pdf, contentId: 'a b' }], /^email\.attachments\[0\]\.contentId: has to be/],
  [Array.from({ length: 11 }, () => pdf), 'email.attachments: at most 10 items'],
])('attachments %# are a 400 that names the field', async (attachments, message) => {
  expectError(await post(service, account, mailBody(attachments)), 400, message)
})

const mebibyte = 1024 * 1024

test('files may have 16 MiB together, and not a byte more', async () => {
  const half = Buffer.alloc(8 * mebibyte, 'a')
  const [first, second] = [file(half), file(Buffer.alloc(8 * mebibyte, 'b'))]
  const requestId = await accept(service, account, mailBody([first, second]))
  const { message } = await rowOf(service, requestId)
  expect(message.email?.attachments?.map(({ sizeBytes }) => sizeBytes)).toEqual([8 * mebibyte, 8 * mebibyte])
  const stored = await storedOf(requestId)
  expect(stored?.length).toBe(16 * mebibyte)
  expect(stored?.subarray(8 * mebibyte - 1, 8 * mebibyte + 1).toString()).toBe('ab')
  const more = file(Buffer.alloc(8 * mebibyte + 1))
  expectError(
    await post(service, account, mailBody([first, more])),
    400,
    'email.attachments: more than 16777216 bytes together',
  )
})

test('a large body is parsed alike, whatever comes first in it', async () => {
  const content = Buffer.alloc(200_000, 'x')
  const { contact, email } = mailBody([file(content), pdf])
  const message = { type: 'media', media: { mediaType: 'document', base64: 'QUJD' } }
  for (const body of [
    { contact, message, email },
    { email, message, contact },
  ]) {
    const requestId = await accept(service, account, JSON.parse(JSON.stringify(body)))
    expect(await storedOf(requestId)).toEqual(
      Buffer.concat([Buffer.from('ABC'), content, Buffer.from('%PDF-1.7\nZebra')]),
    )
  }
})

test('another file is another request', async () => {
  const key = newKey()
  const body = mailBody([pdf])
  const requestId = expectAccepted(await postKeyed(service, account, key, body))
  expectReplay(await postKeyed(service, account, key, body), requestId)
  expectError(await postKeyed(service, account, key, { ...body, email: { attachments: [png] } }), 422)
})

test('of a file with both base64 and url, base64 is sent, and the url is not fetched', async () => {
  const worker = await service.startWorker()
  const url = receiver.at(answer(404))
  const smtp = await buildProviderChannel(service, account.accountId, 'smtp', mailServer.config)
  const requestId = await accept(service, { ...account, channelId: smtp }, mailBody([{ ...pdf, url }]))
  expect(await finishedTimeline(service, requestId, account.apiKey)).toMatchObject({ status: 'sent' })
  const mail = mailServer.calls.find((call) => call.mail?.headers['message-id']?.includes(requestId))?.mail
  expect(mail?.parts[1]?.content.toString()).toBe('%PDF-1.7\nZebra')
  await worker.stop()
})

test('a mail server, a webhook and the sandbox get files as they were sent, links too', async () => {
  const worker = await service.startWorker()
  const link = { filename: 'linked.txt', url: receiver.at((_, response) => response.end('linked')) }
  const smtp = await buildProviderChannel(service, account.accountId, 'smtp', mailServer.config)
  const hook = await buildWebhookChannel(service, account.accountId, receiver.at(answer(200)), 'resend')
  const end = async (channelId: string) => {
    const requestId = await accept(
      service,
      { ...account, channelId },
      mailBody([png, pdf, link], { html: '<p>' }),
    )
    expect(await finishedTimeline(service, requestId, account.apiKey)).toMatchObject({ status: 'sent' })
    return requestId
  }
  const requestId = await end(smtp)
  const mail = mailServer.calls.find((call) => call.mail?.headers['message-id']?.includes(requestId))?.mail
  expect(mail?.parts.slice(1).map(({ content }) => content.toString())).toEqual(['%PDF-1.7\nZebra', 'linked'])
  expect(mail?.parts[0]?.parts[1]?.parts[1]?.content).toEqual(samples.png)
  const [call] = receiver.callsOf(await end(hook))
  const posted = JSON.parse(call?.body ?? '').email.attachments
  expect(posted).toEqual([{ ...png, mimetype: 'image/png' }, { ...pdf, mimetype: 'application/pdf' }, link])
  const [kept] = await received(service, await end(account.channelId))
  expect(kept?.mediaContent).toEqual(Buffer.concat([samples.png, Buffer.from('%PDF-1.7\nZebra')]))
  await worker.stop()
})

test('a file that can’t be fetched fails the send, and the reason says which; one refused for good is not tried again', async () => {
  const worker = await service.startWorker()
  const smtp = await buildProviderChannel(service, account.accountId, 'smtp', mailServer.config)
  const fail = async (status: number) => {
    const link = { filename: 'secret-name.txt', url: receiver.at(answer(status)) }
    const requestId = await accept(service, { ...account, channelId: smtp }, mailBody([pdf, link]))
    return await finishedTimeline(service, requestId, account.apiKey)
  }
  const gone = await fail(404)
  expect(gone).toMatchObject({ status: 'failed', attempts: 1 })
  expect(gone.reason).toBe('email.attachments[1]: the server of the media answered 404')
  const away = await fail(503)
  expect(away).toMatchObject({ status: 'failed', attempts: 2 })
  expect(away.reason).toMatch(/^email\.attachments\[1\]: the server of the media answered 503/)
  await worker.stop()
})

test('a send whose files are no longer kept is not replayed', async () => {
  const requestId = await accept(service, account, mailBody([pdf]))
  const refused = { outcome: 'rejected', fault: 'recipient', reason: 'no' } as const
  await endAttempt(service, await beginAttempt(service, requestId, 'a'), refused)
  await db.delete(media).where(eq(media.requestId, requestId))
  expect(await replaySend(db, requestId)).toBe(false)
  expect((await timelineOf(service, requestId)).status).toBe('failed')
})
