import { expect, test } from 'vitest'
import { type Account, buildAccount, buildKey, post, request, textBody } from '../support/builders.ts'
import { expectError, requestIdForm } from '../support/expect-error.ts'
import { unknownTimeline } from '../support/send-record.ts'
import { finishedTimeline, serviceOfFile, startTestService } from '../support/service.ts'

const service = await serviceOfFile()
const account = await buildAccount(service)

const isoMoment = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/

function read(requestId: string, by: Pick<Account, 'apiKey'> = account) {
  return request(service, `/v1/messages/${requestId}`, {
    headers: { Authorization: `Bearer ${by.apiKey}` },
  })
}

test('the owner of a queued send gets its whole timeline, with its accept as the only event', async () => {
  const { body: sent } = await post(service, account, {
    ...textBody(),
    contact: { value: '0049 151 12345678', name: 'Jane Doe' },
    flowId: account.flowId,
  })
  const { status, headers, body } = await read(sent.requestId)
  expect(status).toBe(200)
  expect(body).toStrictEqual({
    ...unknownTimeline,
    requestId: sent.requestId,
    status: 'queued',
    channelId: account.channelId,
    contact: { type: 'phone', value: '+4915112345678', name: 'Jane Doe' },
    messageType: 'text',
    flowId: account.flowId,
    segments: 1,
    encoding: 'gsm-7',
    acceptedAt: expect.stringMatching(isoMoment),
    attempts: 0,
    events: [{ at: body.acceptedAt, event: 'accepted' }],
  })
  expect(Math.abs(Date.parse(body.acceptedAt) - Date.now())).toBeLessThan(10_000)
  expect(headers.get('Content-Type')).toMatch(/^application\/json/)
})

test('the request of a timeline has a requestId of its own in its header', async () => {
  const { body: sent } = await post(service, account, textBody())
  const { headers } = await read(sent.requestId)
  expect(headers.get('X-Request-Id')).toMatch(requestIdForm)
  expect(headers.get('X-Request-Id')).not.toBe(sent.requestId)
})

test('a timeline never holds what was sent', async () => {
  const { body: sent } = await post(service, account, textBody('a secret'))
  expect(JSON.stringify((await read(sent.requestId)).body)).not.toContain('a secret')
})

test.each([
  ['text', { type: 'text', text: { value: 'x' } }],
  ['template', { type: 'template', template: { name: 'welcome' } }],
  ['media', { type: 'media', media: { mediaType: 'document', base64: 'QUJD' } }],
])('a %s to an e-mail contact without a name and a flow has null for both', async (messageType, message) => {
  const contact = { type: 'email', value: 'Jane@Example.com' }
  const { body: sent } = await post(service, account, { contact, message })
  expect((await read(sent.requestId)).body).toMatchObject({
    messageType,
    contact: { type: 'email', value: 'Jane@example.com' },
    flowId: null,
  })
})

test('it takes the permission messages:read and nothing more', async () => {
  const { body: sent } = await post(service, account, textBody())
  const { accountId } = account
  const reader = await buildKey(service, accountId, { permissions: ['messages:read'] })
  const sender = await buildKey(service, accountId, { permissions: ['messages:send'] })
  expect((await read(sent.requestId, reader)).status).toBe(200)
  expectError(await read(sent.requestId, sender), 403)
})

test('every key of the account may read it, no key of another account', async () => {
  const { body: sent } = await post(service, account, textBody())
  const colleague = await buildKey(service, account.accountId)
  const stranger = await buildAccount(service)
  expect((await read(sent.requestId, colleague)).status).toBe(200)
  expectError(await read(sent.requestId, stranger), 404, 'Message not found')
})

test('a send can be read in every process as soon as it was answered', async () => {
  const other = await startTestService({}, service.stores)
  const { body: sent } = await post(service, account, textBody())
  const answer = await request(other, `/v1/messages/${sent.requestId}`, {
    headers: { Authorization: `Bearer ${account.apiKey}` },
  })
  expect(answer.status).toBe(200)
  await other.stop()
})

test('the timeline of a sent send has its attempt and its end, in order', async () => {
  const { body: sent } = await post(service, account, {
    ...textBody('x', '+4915112345679'),
    closeConversation: true,
  })
  const worker = await service.startWorker('w1')
  const timeline = await finishedTimeline(service, sent.requestId, account.apiKey)
  await worker.stop()
  expect(timeline).toMatchObject({
    status: 'sent',
    attempts: 1,
    conversationId: expect.any(String),
    finishedAt: expect.stringMatching(isoMoment),
    providerMessageId: expect.any(String),
  })
  expect(timeline.events.map(({ event }) => event)).toEqual([
    'accepted',
    'conversation_closed',
    'attempt_started',
    'attempt_finished',
    'sent',
  ])
  const [, closed, started, finished] = timeline.events
  expect(closed).toMatchObject({ conversationId: null })
  expect(started).toMatchObject({ attempt: 1, worker: 'w1' })
  expect(finished).toMatchObject({
    attempt: 1,
    outcome: 'sent',
    durationMs: expect.any(Number),
    providerStatus: 200,
    providerCode: null,
    providerMessageId: timeline.providerMessageId,
  })
  const moments = timeline.events.map(({ at }) => Date.parse(at))
  expect(moments).toEqual([...moments].sort((a, b) => a - b))
})
