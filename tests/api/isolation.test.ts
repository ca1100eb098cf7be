import { once } from 'node:events'
import { connect } from 'node:net'
import { text as textOf } from 'node:stream/consumers'
import { describe, expect, test } from 'vitest'
import { setTemplate } from '../../db/accounts/templates.ts'
import { createApp } from '../../src/api/app.ts'
import { mintMediaLink } from '../../src/core/messages/media-link.ts'
import { openSmtpEmulator } from '../../src/providers/smtp/dev/emulator.ts'
import { absentId } from '../support/absent-id.ts'
import { timelineOf } from '../support/attempts.ts'
import { accept, buildAccount, sameBody } from '../support/builders.ts'
import { inSeconds } from '../support/later.ts'
import { samples } from '../support/media-samples.ts'
import { buildProviderChannel } from '../support/provider-channel.ts'
import { finishedTimeline, serviceOfFile } from '../support/service.ts'
import { newKey, postKeyed } from './keyed.ts'

/** Sends the requests. */
/** Another account, whose channels, flows and sends the requests name. */

const service = await serviceOfFile({ PUBLIC_BASE_URL: 'https://messages.example.com' })
const account = await buildAccountWithMail()
const owner = await buildAccountWithMail()
const { mailChannelId: channelId } = owner
await setTemplate(service.runtime.db, {
  channelId,
  name: 'theirs',
  definition: { subject: 'x', text: 'x' },
})
const media = { mediaType: 'image', base64: samples.png.toString('base64') }
const stranger = {
  ...owner,
  requestId: await accept(service, owner, { ...sameBody(), closeConversation: true }),
  mediaRequestId: await accept(service, owner, { ...sameBody(), message: { type: 'media', media } }),
}

async function buildAccountWithMail() {
  const owner = await buildAccount(service)
  const emulator = await openSmtpEmulator()
  await emulator.stop()
  const mailChannelId = await buildProviderChannel(service, owner.accountId, 'smtp', emulator.config)
  return { ...owner, mailChannelId }
}

/** Every byte that the account gets, but for the id of the request, the clock, and the count of the rate limit. */
async function answerTo(method: string, path: string, body?: object, headers = ''): Promise<string> {
  const content = body === undefined ? '' : JSON.stringify(body)
  const socket = connect(Number(new URL(service.url).port), '127.0.0.1')
  await once(socket, 'connect')
  socket.write(
    `${method} ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer ${account.apiKey}\r\n` +
      `${headers}Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(content)}\r\n\r\n${content}`,
  )
  const answer = await textOf(socket)
  const [, requestId = 'none'] = /^x-request-id: (.*)\r$/im.exec(answer) ?? []
  return answer
    .replaceAll(requestId, 'ID')
    .replace(/^date: .*\r$/im, 'Date\r')
    .replace(/;r=\d+;t=\d+/, '')
}

/** Further parts of a request to a channel of another account. */
const bodies: [string, () => object][] = [
  ['a text', () => sameBody()],
  ['a contact that it does not take', () => sameBody('x', 'ann@example.com')],
  ['a flow of its owner', () => ({ ...sameBody(), flowId: stranger.flowId })],
  ['a template of its', () => templateBody('theirs')],
  ['closing a conversation of its owner', () => ({ ...sameBody(), closeConversation: true })],
]

function templateBody(name: string) {
  const contact = { type: 'email', value: 'ann@example.com' }
  return { contact, message: { type: 'template', template: { name } } }
}

describe('a channel of another account', () => {
  const channels: [string, () => string][] = [
    ['sandbox', () => stranger.channelId],
    ['smtp', () => stranger.mailChannelId],
  ]
  const cases = channels.flatMap(([provider, channelId]) =>
    bodies.map(([what, body]) => ({ provider, channelId, what, body })),
  )
  test.each(cases)(
    'answers as an absent one, on both endpoints: $provider and $what',
    async ({ channelId, body }) => {
      for (const headers of ['', 'Idempotency-Key: k\r\n']) {
        const inPath = (id: string) => answerTo('POST', `/v1/channels/${id}/messages`, body(), headers)
        const inBody = (id: string) => answerTo('POST', '/v1/messages', { channelId: id, ...body() }, headers)
        const absent = await inPath(absentId)
        expect(absent).toMatch(/^HTTP\/1\.1 404 .*"message":"Channel not found"/s)
        expect(await inPath(channelId())).toBe(absent)
        expect(await inBody(absentId)).toBe(absent)
        expect(await inBody(channelId())).toBe(absent)
      }
    },
  )
})

test('a flow of another account answers as an absent one, on both endpoints and in either place', async () => {
  const { channelId } = account
  const { contact, message } = sameBody()
  const ways = [
    (flowId: string) => ({ contact, message, flowId }),
    (flowId: string) => ({ contact, message: { ...message, flowId } }),
  ]
  for (const body of ways) {
    const inPath = (flowId: string) => answerTo('POST', `/v1/channels/${channelId}/messages`, body(flowId))
    const inBody = (flowId: string) => answerTo('POST', '/v1/messages', { channelId, ...body(flowId) })
    const absent = await inPath(absentId)
    expect(absent).toMatch(/^HTTP\/1\.1 400 .*"message":"flowId: no such flow"/s)
    expect(await inPath(stranger.flowId)).toBe(absent)
    expect(await inBody(absentId)).toBe(absent)
    expect(await inBody(stranger.flowId)).toBe(absent)
    expect(await inPath(account.flowId)).toMatch(/^HTTP\/1\.1 202 /)
  }
})

test('a send of another account answers as an absent one', async () => {
  const absent = await answerTo('GET', `/v1/messages/${absentId}`)
  expect(absent).toMatch(/^HTTP\/1\.1 404 .*"message":"Message not found"/s)
  expect(await answerTo('GET', `/v1/messages/${stranger.requestId}`)).toBe(absent)
  expect(await answerTo('GET', `/v1/messages/${stranger.mediaRequestId}`)).toBe(absent)
})

test('a cancel of a send of another account, scheduled or not, answers as one of an absent send, and changes nothing', async () => {
  const cancelOf = (id: string) => answerTo('POST', `/v1/messages/${id}/cancel`)
  const absent = await cancelOf(absentId)
  expect(absent).toMatch(/^HTTP\/1\.1 404 .*"message":"Message not found"/s)
  const scheduled = await accept(service, stranger, { ...sameBody(), sendAt: inSeconds(3600) })
  for (const id of [scheduled, stranger.requestId]) {
    expect(await cancelOf(id)).toBe(absent)
    expect((await timelineOf(service, id)).status).not.toBe('canceled')
  }
})

test('a move of a send of another account answers as one of an absent send, and changes nothing', async () => {
  const moveOf = (id: string) => answerTo('PATCH', `/v1/messages/${id}`, { sendAt: inSeconds(60) })
  const absent = await moveOf(absentId)
  expect(absent).toMatch(/^HTTP\/1\.1 404 .*"message":"Message not found"/s)
  const sendAt = inSeconds(3600)
  const scheduled = await accept(service, stranger, { ...sameBody(), sendAt })
  for (const id of [scheduled, stranger.requestId]) expect(await moveOf(id)).toBe(absent)
  expect((await timelineOf(service, scheduled)).sendAt).toBe(sendAt)
})

test('a cancel of many by a reference or a flow of another account answers as one by an absent one, and changes nothing', async () => {
  const marks = { reference: 'of a stranger', flowId: stranger.flowId, sendAt: inSeconds(3600) }
  const scheduled = await accept(service, stranger, { ...sameBody(), ...marks })
  const cancelOf = (set: object) => answerTo('POST', '/v1/messages/cancel', set)
  const none = await cancelOf({ flowId: absentId })
  expect(none).toMatch(/^HTTP\/1\.1 200 .*"canceled":0/s)
  expect(await cancelOf({ flowId: stranger.flowId })).toBe(none)
  expect(await cancelOf({ reference: marks.reference })).toBe(none)
  expect((await timelineOf(service, scheduled)).status).toBe('queued')
})

test('in a batch a channel and a flow of another account answer as absent ones', async () => {
  const batchOf = (fields: object) =>
    answerTo('POST', '/v1/messages/batch', {
      messages: [{ channelId: account.channelId, ...sameBody(), ...fields }],
    })
  const ofChannel = await batchOf({ channelId: absentId })
  expect(ofChannel).toMatch(/^HTTP\/1\.1 400 .*"message":"messages\[0\]\.channelId: Channel not found"/s)
  for (const [, body] of bodies)
    expect(await batchOf({ ...body(), channelId: stranger.channelId })).toBe(ofChannel)
  expect(await batchOf({ flowId: stranger.flowId })).toBe(await batchOf({ flowId: absentId }))
})

test('a list by a channel or a flow of another account answers as one by an absent one', async () => {
  const empty = await answerTo('GET', `/v1/messages?channelId=${absentId}`)
  expect(empty).toMatch(/^HTTP\/1\.1 200 .*"messages":\[\],"next":null/s)
  expect(await answerTo('GET', `/v1/messages?flowId=${absentId}`)).toBe(empty)
  expect(await answerTo('GET', `/v1/messages?channelId=${stranger.channelId}`)).toBe(empty)
  expect(await answerTo('GET', `/v1/messages?flowId=${stranger.flowId}`)).toBe(empty)
})

test('the id of a conversation, a channel, a flow, a key or an account is no send', async () => {
  const absent = await answerTo('GET', `/v1/messages/${absentId}`)
  await service.startWorker()
  const { conversationId } = await finishedTimeline(service, stranger.requestId, stranger.apiKey)
  const { accountId, keyId, channelId, flowId } = stranger
  for (const id of [conversationId, accountId, keyId, channelId, flowId]) {
    expect(id).toEqual(expect.any(String))
    expect(await answerTo('GET', `/v1/messages/${id}`)).toBe(absent)
  }
})

test('a template that is registered with a channel of another account answers as an absent one', async () => {
  const channelId = account.mailChannelId
  const inPath = (name: string) => answerTo('POST', `/v1/channels/${channelId}/messages`, templateBody(name))
  const inBody = (name: string) => answerTo('POST', '/v1/messages', { channelId, ...templateBody(name) })
  const absent = await inPath('nobodys')
  expect(absent).toMatch(/^HTTP\/1\.1 400 .*"message":"message.template.name: is not registered/s)
  expect(await inPath('theirs')).toBe(absent)
  expect(await inBody('nobodys')).toBe(absent)
  expect(await inBody('theirs')).toBe(absent)
})

test('an idempotency key that another account used answers as an unused one', async () => {
  const path = `/v1/channels/${account.channelId}/messages`
  const theirs = newKey()
  expect((await postKeyed(service, stranger, theirs, sameBody())).status).toBe(202)
  const by = (key: string, body = sameBody()) => answerTo('POST', path, body, `Idempotency-Key: ${key}\r\n`)
  const unused = await by(newKey())
  expect(unused).toMatch(/^HTTP\/1\.1 202 /)
  expect(await by(theirs)).toBe(unused)
  expect(await by(theirs, sameBody('other'))).toMatch(/^HTTP\/1\.1 422 /)
})

test("a media link that was altered to name another account's send answers as one to nothing", async () => {
  const { CREDENTIALS_KEY } = service.runtime.settings
  const linkTo = (requestId: string) =>
    new URL(mintMediaLink('http://x', requestId, new Date(Date.now() + 60_000), CREDENTIALS_KEY)).pathname
  const link = linkTo(absentId)
  const absent = await answerTo('GET', link)
  expect(absent).toMatch(/^HTTP\/1\.1 404 /)
  expect(await answerTo('GET', link.replace(absentId, stranger.mediaRequestId))).toBe(absent)
  expect(await answerTo('GET', linkTo(stranger.mediaRequestId))).toMatch(/^HTTP\/1\.1 200 /)
})

test('receipts to a channel of another account, without its secret, change nothing, and answer as a wrong secret does', async () => {
  const { accountId } = stranger
  const secret = `whsec_${Buffer.alloc(32, 9).toString('base64')}`
  const theirs = await buildProviderChannel(service, accountId, 'webhook', {
    url: 'https://example.com',
    secret,
  })
  const mine = await buildProviderChannel(service, account.accountId, 'webhook', {
    url: 'https://example.com',
    secret,
  })
  const receipt = { requestId: stranger.requestId, status: 'delivered' }
  const wrong = await answerTo('POST', `/receipts/${mine}`, receipt)
  expect(wrong).toMatch(/^HTTP\/1\.1 403 /)
  expect(await answerTo('POST', `/receipts/${theirs}`, receipt)).toBe(wrong)
})

test('these are all routes that take an id in their path', () => {
  const paths = createApp(service.api).routes.map(({ path }) => path)
  const pageOfDocs = '/docs/:page'
  const withId = paths.filter((path) => path.includes(':') && path !== pageOfDocs)
  expect([...new Set(withId)].sort()).toEqual([
    '/media/:token',
    '/receipts/:channelId',
    '/unsubscribe/:token',
    // tests/api/channels.test.ts
    '/v1/channels/:channelId',
    '/v1/channels/:channelId/messages',
    '/v1/channels/:channelId/templates',
    // tests/api/endpoints.slow.test.ts
    '/v1/endpoints/:endpointId',
    '/v1/endpoints/:endpointId/callbacks',
    '/v1/endpoints/:endpointId/disable',
    '/v1/endpoints/:endpointId/enable',
    '/v1/endpoints/:endpointId/resend',
    '/v1/endpoints/:endpointId/rotate-secret',
    '/v1/endpoints/:endpointId/test',
    '/v1/messages/:requestId',
    '/v1/messages/:requestId/cancel',
    // tests/api/suppressions.test.ts
    '/v1/suppressions/:suppressionId',
  ])
})
