import { eq } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { media, sends } from '../../db/schema.ts'
import { buildAccount, post, request, sameBody } from '../support/builders.ts'
import { inTime } from '../support/expect-error.ts'
import { wakeUpOf } from '../support/queue.ts'
import { serviceOfFile } from '../support/service.ts'

const service = await serviceOfFile()
const account = await buildAccount(service)

const onePixelPng =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

async function rowOf(requestId: string) {
  const [row] = await service.runtime.db.select().from(sends).where(eq(sends.requestId, requestId))
  return row
}

test('the answer holds the requestId and nothing else, and X-Request-Id is the same', async () => {
  const { status, headers, body } = await post(service, account, sameBody())
  expect(status).toBe(202)
  expect(Object.keys(body)).toEqual(['requestId'])
  expect(body.requestId).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  expect(headers.get('X-Request-Id')).toBe(body.requestId)
  expect(headers.get('Content-Type')).toMatch(/^application\/json/)
})

test("a client's own X-Request-Id is never used", async () => {
  const own = '01890000-0000-7000-8000-000000000000'
  const { headers, body } = await post(service, account, sameBody(), { 'X-Request-Id': own })
  expect(headers.get('X-Request-Id')).toBe(body.requestId)
  expect(body.requestId).not.toBe(own)
})

test('the send is in PostgreSQL before the answer, and its wake-up in the queue under the same id', async () => {
  const { body } = await post(service, account, sameBody('Guten Tag', '0049 (151) 123-45.678'))
  expect(await rowOf(body.requestId)).toMatchObject({
    accountId: account.accountId,
    channelId: account.channelId,
    contactType: 'phone',
    contactValue: '+4915112345678',
    messageType: 'text',
    message: { type: 'text', text: { value: 'Guten Tag' } },
    status: 'queued',
    attempt: 0,
  })
  const job = await wakeUpOf(service, body.requestId)
  expect(job?.data).toEqual({ requestId: body.requestId })
})

test('both endpoints record the same send', async () => {
  const headers = { Authorization: `Bearer ${account.apiKey}`, 'Content-Type': 'application/json' }
  const inBody = await request(service, '/v1/messages', {
    method: 'POST',
    headers,
    body: JSON.stringify({ channelId: account.channelId, ...sameBody('same') }),
  })
  const inPath = await post(service, account, sameBody('same'))
  const {
    requestId: _a,
    seq: _b,
    acceptedAt: _c,
    nextAttemptAt: _d,
    behind: _i,
    ...one
  } = { ...(await rowOf(inBody.body.requestId)) }
  const {
    requestId: _e,
    seq: _f,
    acceptedAt: _g,
    nextAttemptAt: _h,
    behind,
    ...other
  } = {
    ...(await rowOf(inPath.body.requestId)),
  }
  expect(inBody.status).toBe(202)
  expect(one).toEqual(other)
  // They are to one contact.
  expect(behind).toBe(inBody.body.requestId)
})

test('base64 media goes into its own table, and neither into the row nor into Redis', async () => {
  const { status, body } = await post(service, account, {
    contact: { value: '+4915112345678' },
    message: { type: 'media', media: { mediaType: 'image', base64: onePixelPng, filename: 'dot.png' } },
  })
  expect(status).toBe(202)
  const content = Buffer.from(onePixelPng, 'base64')
  const [stored] = await service.runtime.db.select().from(media).where(eq(media.requestId, body.requestId))
  expect(stored?.content).toEqual(content)
  expect((await rowOf(body.requestId))?.message).toEqual({
    type: 'media',
    media: { mediaType: 'image', mimetype: 'image/png', filename: 'dot.png', sizeBytes: content.length },
  })
  expect(JSON.stringify(await wakeUpOf(service, body.requestId))).not.toContain(onePixelPng.slice(0, 20))
})

test.each([
  ['at the top level', { flowId: true, closeConversation: true }, {}],
  ['inside message', {}, { flowId: true, closeConversation: true }],
  [
    'in both places alike',
    { flowId: true, closeConversation: true },
    { flowId: true, closeConversation: true },
  ],
])('flowId and closeConversation count %s', async (_where, outside, inside) => {
  const place = (fields: { flowId?: boolean; closeConversation?: boolean }) => ({
    ...(fields.flowId && { flowId: account.flowId }),
    ...(fields.closeConversation && { closeConversation: true }),
  })
  const { contact, message } = sameBody()
  const { body } = await post(service, account, {
    contact,
    ...place(outside),
    message: { ...message, ...place(inside) },
  })
  expect(await rowOf(body.requestId)).toMatchObject({ flowId: account.flowId, closeConversation: true })
})

test('null for an optional field counts as absent', async () => {
  const { status, body } = await post(service, account, {
    contact: { value: '+4915112345678', type: null, name: null },
    message: { type: 'text', text: { value: 'x' }, template: null, media: null, flowId: null },
    flowId: null,
    closeConversation: null,
  })
  expect(status).toBe(202)
  expect(await rowOf(body.requestId)).toMatchObject({
    contactName: null,
    flowId: null,
    closeConversation: false,
  })
})

test('of a key given twice the last one wins', async () => {
  const json =
    '{"contact":{"value":"1","value":"+4915112345678"},"message":{"type":"text","text":{"value":"x"}}}'
  const { status, body } = await post(service, account, json)
  expect(status).toBe(202)
  expect((await rowOf(body.requestId))?.contactValue).toBe('+4915112345678')
})

test('the limit and what is left of it are in headers', async () => {
  const limited = await buildAccount(service, { rateLimit: { points: 5, seconds: 60 } })
  const { headers } = await post(service, limited, sameBody())
  expect(headers.get('RateLimit-Policy')).toBe('"default";q=5;w=60')
  expect(headers.get('RateLimit')).toMatch(/^"default";r=4;t=(60|59)$/)
})

test('one log line records the accept, with the contact masked and no content', async () => {
  const { body } = await post(service, account, sameBody('a secret'))
  const lines = service.logsOf(body.requestId)
  expect(lines).toMatchObject([{ event: 'accepted', contact: '+49*********78', messageType: 'text' }])
  expect(JSON.stringify(lines)).not.toContain('a secret')
})

test('a hundred sends at once are all recorded and enqueued', async () => {
  const crowd = Array.from({ length: 100 }, (_, i) => post(service, account, sameBody(`n ${i}`)))
  const answers = inTime(await Promise.all(crowd))
  expect(answers.map(({ status }) => status)).toEqual(Array(100).fill(202))
  const ids = answers.map(({ body }) => body.requestId as string)
  for (const id of ids) expect(await rowOf(id), id).toBeDefined()
  const jobs = await Promise.all(ids.map((id) => wakeUpOf(service, id)))
  expect(jobs.every(Boolean)).toBe(true)
})
