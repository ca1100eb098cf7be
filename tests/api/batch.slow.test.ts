import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { updateChannel } from '../../db/accounts/channels.ts'
import { deleteChannel } from '../../db/accounts/deleted-channels.ts'
import { media } from '../../db/schema.ts'
import type { Answer } from '../support/answer.ts'
import { namesOf, timelineOf } from '../support/attempts.ts'
import {
  type Account,
  buildAccount,
  buildChannel,
  buildKey,
  newContact,
  textBody,
} from '../support/builders.ts'
import { expectError, inTime, requestIdForm } from '../support/expect-error.ts'
import { eastOfGreenwich, inSeconds, postBatch, scheduledOf } from '../support/later.ts'
import { samples } from '../support/media-samples.ts'
import { wakeUpOf } from '../support/queue.ts'
import { finishedTimeline, serviceOfFile } from '../support/service.ts'
import { holdInserts, holdKey, newKey, pointsUsed, postKeyed, sendsOf } from './keyed.ts'

const service = await serviceOfFile()
const account = await buildAccount(service)

const many = (count: number) => Array.from({ length: count }, (_, index) => textBody(`message ${index}`))

function idsOf(answer: Answer): string[] {
  const { status, body, headers } = answer
  inTime([answer])
  expect(status, JSON.stringify(body)).toBe(202)
  expect(body).toStrictEqual({
    requestId: expect.stringMatching(requestIdForm),
    messages: expect.any(Array),
  })
  expect(headers.get('X-Request-Id')).toBe(body.requestId)
  return body.messages.map(({ requestId }: { requestId: string }) => requestId)
}

/** Nothing of the account is recorded, in either table. */
async function expectNothing(of: Account) {
  expect([await sendsOf(service, of), await scheduledOf(service, of)]).toEqual([[], []])
}

test('100 messages are recorded in the order given, each with its wake-up, and the batch itself is no send', async () => {
  const own = await buildAccount(service)
  const bodies = many(100)
  const answer = await postBatch(service, own, bodies)
  const ids = idsOf(answer)
  const rows = await sendsOf(service, own)
  expect(rows.map(({ requestId }) => requestId)).toEqual(ids)
  expect(rows.map(({ message }) => message)).toEqual(bodies.map(({ message }) => message))
  expect(ids).not.toContain(answer.body.requestId)
  for (const id of ids) expect(await wakeUpOf(service, id)).toBeDefined()
  expect(service.logsOf(ids[99] ?? '')).toMatchObject([{ event: 'accepted' }])
})

test('messages to one contact are sent in the order of the batch, and scheduled ones wait', async () => {
  const own = await buildAccount(service)
  const contact = newContact()
  const sendAt = inSeconds(3600)
  const ids = idsOf(
    await postBatch(service, own, [
      ...['1', '2', '3'].map((text) => textBody(text, contact)),
      { ...textBody('4', contact), sendAt, reference: 'four' },
      textBody('5', contact),
    ]),
  )
  const worker = await service.startWorker()
  const sent = ids.filter((_, index) => index !== 3)
  const timelines = await Promise.all(sent.map((id) => finishedTimeline(service, id, own.apiKey)))
  await worker.stop()
  const ends = timelines.map(({ finishedAt }) => Date.parse(finishedAt ?? ''))
  expect(ends).toEqual([...ends].sort((a, b) => a - b))
  const waiting = await timelineOf(service, ids[3] ?? '')
  expect(waiting).toMatchObject({ status: 'queued', sendAt, reference: 'four' })
  expect(namesOf(waiting)).toEqual(['accepted', 'scheduled'])
  expect((await scheduledOf(service, own)).map(({ requestId }) => requestId)).toEqual([ids[3]])
})

test('one fault in a batch of 100 is a 400 that names it, and 0 are recorded', async () => {
  const own = await buildAccount(service)
  const bodies: object[] = many(100)
  bodies[57] = { ...textBody(), contact: { value: '12' } }
  expectError(
    await postBatch(service, own, bodies),
    400,
    /^messages\[57\]\.contact\.value: has to be a phone number/,
  )
  await expectNothing(own)
  expect(await pointsUsed(service, own)).toBe(0)
})

test('faults of the channel, the flow, the template, the media and the time are named by their message', async () => {
  const own = await buildAccount(service)
  const foreign = await buildAccount(service)
  const png = samples.png.toString('base64')
  const text = (more: object) => ({ ...textBody(), ...more })
  const image = (fields: object) => ({
    contact: { value: newContact() },
    message: { type: 'media', media: { mediaType: 'image', ...fields } },
  })
  const cases: [object, string | RegExp][] = [
    [text({ channelId: foreign.channelId }), 'messages[1].channelId: Channel not found'],
    [text({ channelId: 'x' }), 'messages[1].channelId: Channel not found'],
    [text({ channelId: undefined }), 'messages[1].channelId: required'],
    [text({ flowId: foreign.flowId }), 'messages[1].flowId: no such flow'],
    [text({ sendAt: inSeconds(-120) }), 'messages[1].sendAt: more than 60 s ago'],
    [text({ sendAt: 'soon' }), /^messages\[1\]\.sendAt: has to be a time/],
    [text({ unknown: 1 }), 'messages[1].unknown: unknown field'],
    [image({ base64: Buffer.from('text').toString('base64') }), /^messages\[1\]\.message\.media\.base64: /],
    [image({ base64: png, mimetype: 'image/jpeg' }), /^messages\[1\]\.message\.media\.mimetype: /],
  ]
  for (const [body, message] of cases)
    expectError(await postBatch(service, own, [textBody(), body]), 400, message)
  const both = await postBatch(service, own, [text({ channelId: 'x' }), textBody(), text({ channelId: 'y' })])
  expectError(both, 400, 'messages[0].channelId: Channel not found; messages[2].channelId: Channel not found')
  await expectNothing(own)
})

test.each([
  [{ messages: [] }, 'messages: is empty'],
  [{ messages: many(101) }, 'messages: at most 100 items'],
  [{}, 'messages: required'],
  [{ messages: {} }, 'messages: has to be an array'],
  [{ messages: [1] }, 'messages[0]: has to be an object'],
  [{ messages: many(1), more: 1 }, /more: unknown field/],
])('a batch of no valid form is a 400: %#', async (body, message) => {
  const answer = await fetch(`${service.url}/v1/messages/batch`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${account.apiKey}`, 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  })
  expectError({ status: answer.status, headers: answer.headers, body: await answer.json() }, 400, message)
})

test('it needs a key with the permission to send', async () => {
  const reader = await buildKey(service, account.accountId, { permissions: ['messages:read'] })
  expectError(await postBatch(service, { ...account, ...reader }, many(1)), 403)
  expectError(await postBatch(service, { ...account, apiKey: 'omk_x' }, many(1)), 401)
})

test('a repeat with the same key gets the same ids, whatever the JSON looks like, and costs nothing', async () => {
  const own = await buildAccount(service)
  const key = { 'Idempotency-Key': newKey() }
  const sendAt = inSeconds(86_400)
  const bodies = [...many(98), { ...textBody(), sendAt }, textBody()]
  const first = await postBatch(service, own, bodies, key)
  const ids = idsOf(first)
  const again = await postBatch(
    service,
    own,
    bodies.map((body) => ({ ...body, ...('sendAt' in body && { sendAt: eastOfGreenwich(sendAt) }) })),
    key,
  )
  expect(idsOf(again)).toEqual(ids)
  expect(again.body.requestId).toBe(first.body.requestId)
  expect(again.headers.get('Idempotent-Replayed')).toBe('true')
  expect(await sendsOf(service, own)).toHaveLength(99)
  expect(await pointsUsed(service, own)).toBe(100)
})

test('the key of a batch on another batch, on one of its messages alone or on a batch of only that one is a 422 that names the first request', async () => {
  const own = await buildAccount(service)
  const key = newKey()
  const body = textBody()
  const header = { 'Idempotency-Key': key }
  const first = await postBatch(service, own, [body], header)
  idsOf(first)
  const names = ({ body: { requestId } }: Answer) => new RegExp(`another request, ${requestId}; `)
  expectError(await postKeyed(service, own, key, body), 422, names(first))
  expectError(await postBatch(service, own, [body, body], header), 422, names(first))
  const single = { 'Idempotency-Key': newKey() }
  const alone = await postKeyed(service, own, single['Idempotency-Key'], body)
  expect(alone.status).toBe(202)
  expectError(await postBatch(service, own, [body], single), 422, names(alone))
  expect(await sendsOf(service, own)).toHaveLength(2)
})

test('batches with one key at the same moment are one batch', async () => {
  const own = await buildAccount(service)
  const key = { 'Idempotency-Key': newKey() }
  const bodies = many(20)
  const answers = await Promise.all(Array.from({ length: 8 }, () => postBatch(service, own, bodies, key)))
  expect(new Set(answers.map((answer) => JSON.stringify(idsOf(answer)))).size).toBe(1)
  expect(await sendsOf(service, own)).toHaveLength(20)
  expect(await pointsUsed(service, own)).toBe(20)
})

test('a repeat is answered although its channel was deleted meanwhile; a new batch is a 400', async () => {
  const own = await buildAccount(service)
  const by = { ...own, channelId: await buildChannel(service, own.accountId) }
  const key = { 'Idempotency-Key': newKey() }
  const bodies = many(3)
  const ids = idsOf(await postBatch(service, by, bodies, key))
  await deleteChannel(service.runtime.db, by.channelId)
  await sleep(2600)
  expect(idsOf(await postBatch(service, by, bodies, key))).toEqual(ids)
  expectError(await postBatch(service, by, many(1)), 400, 'messages[0].channelId: Channel not found')
})

test('a batch counts as its number of messages: a 429 takes none, more than the whole limit is a 400', async () => {
  const own = await buildAccount(service, { rateLimit: { points: 10, seconds: 60 } })
  expect(idsOf(await postBatch(service, own, many(6)))).toHaveLength(6)
  const refused = await postBatch(service, own, many(5))
  expectError(refused, 429)
  expect(refused.headers.get('RateLimit')).toMatch(/r=4;/)
  expect(Number(refused.headers.get('Retry-After'))).toBeGreaterThan(0)
  const rest = await postBatch(service, own, many(4))
  expect(idsOf(rest)).toHaveLength(4)
  expect(rest.headers.get('RateLimit')).toMatch(/r=0;/)
  expectError(await postBatch(service, own, many(11)), 400, /^messages: at most 10, /)
  expect(await sendsOf(service, own)).toHaveLength(10)
})

test('media of a batch is stored with its sends, or not at all', async () => {
  const own = await buildAccount(service)
  const image = (content: Buffer) => ({
    contact: { value: newContact() },
    message: { type: 'media', media: { mediaType: 'image', base64: content.toString('base64') } },
  })
  const contents = [samples.png, Buffer.concat([samples.png, Buffer.alloc(700_000)])]
  const stored = async () => (await service.runtime.db.select().from(media)).length
  const before = await stored()
  const ids = idsOf(await postBatch(service, own, [textBody(), ...contents.map(image)]))
  const rows = await service.runtime.db.select().from(media)
  const [text, ...withMedia] = ids.map((id) => rows.find(({ requestId }) => requestId === id)?.content)
  expect(text).toBeUndefined()
  // Not by toEqual, which takes seconds to compare so many bytes.
  expect(withMedia.map((content, index) => content?.equals(contents[index] as Buffer))).toEqual([true, true])
  const key = newKey()
  const hold = await holdKey(service, own, key)
  const late = postBatch(service, own, [image(samples.png)], { 'Idempotency-Key': key })
  expectError(await late, 503)
  await hold.giveUp()
  expect(await stored()).toBe(before + 2)
  expect(await sendsOf(service, own)).toHaveLength(3)
})

test('a batch that PostgreSQL takes too late is a 503, and stays so: nothing is recorded afterwards', async () => {
  const own = await buildAccount(service)
  const hold = await holdInserts(service)
  const answer = await postBatch(service, own, many(50), { 'Idempotency-Key': newKey() })
  expectError(answer, 503)
  await hold.release()
  await sleep(300)
  await expectNothing(own)
})

test('what its channel says of each send is kept with it: order, expiry', async () => {
  const own = await buildAccount(service)
  const { db } = service.runtime
  await updateChannel(db, own.channelId, { expireAfterSeconds: 60, ordering: 'none' })
  await sleep(2600)
  idsOf(await postBatch(service, own, many(2)))
  for (const row of await sendsOf(service, own)) {
    expect(row).toMatchObject({ lane: null, behind: null })
    expect(row.expiresAt).not.toBeNull()
  }
  onTestFinished(() =>
    updateChannel(db, own.channelId, { expireAfterSeconds: null, ordering: 'contact' }).then(() => {}),
  )
})
