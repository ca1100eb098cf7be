import { expect, test } from 'vitest'
import { media } from '../../db/schema.ts'
import { rowOf, timelineOf } from '../support/attempts.ts'
import { accept, buildAccount, post, sameBody, textBody } from '../support/builders.ts'
import { expectError } from '../support/expect-error.ts'
import { eastOfGreenwich, inSeconds, makeDue, moveDue, scheduledOf } from '../support/later.ts'
import { samples } from '../support/media-samples.ts'
import { wakeUpOf } from '../support/queue.ts'
import { serviceOfFile } from '../support/service.ts'
import { ageKey, expectReplay, newKey, pointsUsed, postKeyed, sendsOf } from './keyed.ts'

const service = await serviceOfFile()
const account = await buildAccount(service)

test('a send with a sendAt in the future is queued without a wake-up, and its timeline says so', async () => {
  const sendAt = inSeconds(3600)
  const requestId = await accept(service, account, { ...textBody(), sendAt, reference: 'order-4711' })
  const timeline = await timelineOf(service, requestId)
  expect(timeline).toMatchObject({ status: 'queued', sendAt, reference: 'order-4711', attempts: 0 })
  expect(timeline.events).toEqual([
    { at: timeline.acceptedAt, event: 'accepted' },
    { at: timeline.acceptedAt, event: 'scheduled', sendAt },
  ])
  expect(await wakeUpOf(service, requestId)).toBeUndefined()
  expect((await sendsOf(service, account)).map((row) => row.requestId)).not.toContain(requestId)
  expect(service.logsOf(requestId)).toMatchObject([
    { event: 'accepted', reference: 'order-4711' },
    { event: 'scheduled', sendAt },
  ])
})

test('a sendAt up to 60 s past means now', async () => {
  const sendAt = inSeconds(-55)
  const requestId = await accept(service, account, { ...textBody(), sendAt })
  expect(await wakeUpOf(service, requestId)).toBeDefined()
  const timeline = await timelineOf(service, requestId)
  expect(timeline.sendAt).toBe(sendAt)
  expect(timeline.events.map(({ event }) => event)).toEqual(['accepted'])
})

test.each([
  [inSeconds(-62), 'sendAt: more than 60 s ago'],
  [inSeconds(30 * 86_400 + 60), 'sendAt: more than 30 days ahead'],
  ['2026-11-24T09:00:00', /^sendAt: has to be a time with its offset/],
  ['soon', /^sendAt: has to be a time with its offset/],
  [1_795_446_371, /^sendAt: has to be a string/],
])('a sendAt of %j is a 400, and nothing is recorded', async (sendAt, message) => {
  const own = await buildAccount(service)
  expectError(await post(service, own, { ...textBody(), sendAt }), 400, message)
  expect([await sendsOf(service, own), await scheduledOf(service, own)]).toEqual([[], []])
})

test('reference has 1 to 256 characters, and no control characters', async () => {
  const of = (reference: string) => post(service, account, { ...textBody(), reference })
  expect((await of('a'.repeat(256))).status).toBe(202)
  expectError(await of(''), 400, 'reference: is empty')
  expectError(await of('a'.repeat(257)), 400, 'reference: at most 256 characters')
  expectError(await of('a\nb'), 400, 'reference: contains a control character')
})

test('a null sendAt or reference counts as absent; inside message they are unknown', async () => {
  const requestId = await accept(service, account, { ...textBody(), sendAt: null, reference: null })
  expect(await rowOf(service, requestId)).toMatchObject({ sendAt: null, reference: null })
  const { contact, message } = textBody()
  const answer = await post(service, account, { contact, message: { ...message, sendAt: inSeconds(60) } })
  expectError(answer, 400, 'message.sendAt: unknown field')
})

test('when its time has come, it joins the others with all that it was accepted with, and keeps its time of accept', async () => {
  const body = {
    ...textBody('Later'),
    contact: { value: '+4915112345678', name: 'Ann' },
    flowId: account.flowId,
    closeConversation: true,
    reference: 'a',
    sendAt: inSeconds(3600),
  }
  const requestId = await accept(service, account, body)
  const before = (await scheduledOf(service, account)).find((row) => row.requestId === requestId)
  await makeDue(service, requestId)
  expect(await moveDue(service)).toEqual([{ requestId, overflowOf: null, isBehind: false }])
  const { acceptedAt } = before ?? {}
  expect(await rowOf(service, requestId)).toMatchObject({
    accountId: account.accountId,
    channelId: account.channelId,
    contactType: 'phone',
    contactValue: '+4915112345678',
    contactName: 'Ann',
    message: body.message,
    flowId: account.flowId,
    closeConversation: true,
    reference: 'a',
    status: 'queued',
    acceptedAt,
  })
  expect((await scheduledOf(service, account)).map((row) => row.requestId)).not.toContain(requestId)
})

test('nothing moves before its time by the clock of PostgreSQL', async () => {
  const requestId = await accept(service, account, { ...textBody(), sendAt: inSeconds(3600) })
  expect(await moveDue(service)).toEqual([])
  const { sendAt, nextAttemptAt } = await timelineOf(service, requestId)
  expect(nextAttemptAt).toBe(sendAt)
  await makeDue(service, requestId, -0.3)
  expect(await moveDue(service)).toEqual([])
})

test('media of a scheduled send is stored with it', async () => {
  const { db } = service.runtime
  for (const content of [samples.png, Buffer.concat([samples.png, Buffer.alloc(600 * 1024)])]) {
    const body = {
      contact: { value: '+4915112345678' },
      message: { type: 'media', media: { mediaType: 'image', base64: content.toString('base64') } },
      sendAt: inSeconds(3600),
    }
    const requestId = await accept(service, account, body)
    const rows = await db.select().from(media)
    // Not by toEqual, which takes seconds to compare so many bytes.
    expect(rows.find((row) => row.requestId === requestId)?.content.equals(content)).toBe(true)
    expect((await timelineOf(service, requestId)).status).toBe('queued')
  }
})

test('a send that is accepted with the same key and the same sendAt, in another offset, is a repeat; with another, a 422', async () => {
  const own = await buildAccount(service)
  const key = newKey()
  const sendAt = inSeconds(86_400)
  const { body } = await postKeyed(service, own, key, { ...sameBody(), sendAt: eastOfGreenwich(sendAt) })
  const again = (sendAt: string | undefined, reference?: string) =>
    postKeyed(service, own, key, { ...sameBody(), sendAt, reference })
  expectReplay(await again(sendAt), body.requestId)
  expectError(await again(inSeconds(86_401)), 422)
  expectError(await again(undefined), 422)
  expectError(await again(sendAt, 'a'), 422)
  expect(await scheduledOf(service, own)).toHaveLength(1)
  expect(await pointsUsed(service, own)).toBe(1)
})

test('the key of a scheduled send is kept until 24 hours after its time, even if that is long past the accept', async () => {
  const own = await buildAccount(service)
  const key = newKey()
  const body = { ...textBody('a', '+4915112345678'), sendAt: inSeconds(10 * 86_400) }
  const { requestId } = (await postKeyed(service, own, key, body)).body
  await ageKey(service, own, key, 10 * 86_400 + 86_000)
  expectReplay(await postKeyed(service, own, key, body), requestId)
  await ageKey(service, own, key, 1000)
  const { status, headers } = await postKeyed(service, own, key, body)
  expect([status, headers.get('Idempotent-Replayed')]).toEqual([202, null])
})

test('a repeat is answered although its sendAt is more than 60 s past by now', async () => {
  const own = await buildAccount(service)
  const key = newKey()
  const sendAt = inSeconds(-59)
  const body = { ...textBody('a', '+4915112345678'), sendAt }
  const { requestId } = (await postKeyed(service, own, key, body)).body
  await new Promise((resolve) => setTimeout(resolve, 1500))
  expectReplay(await postKeyed(service, own, key, body), requestId)
  expectError(await postKeyed(service, own, newKey(), body), 400, 'sendAt: more than 60 s ago')
})

test('several scheduled sends with one key at the same moment are one send', async () => {
  const own = await buildAccount(service)
  const key = newKey()
  const body = { ...textBody('a', '+4915112345678'), sendAt: inSeconds(3600) }
  const answers = await Promise.all(Array.from({ length: 10 }, () => postKeyed(service, own, key, body)))
  expect(new Set(answers.map(({ body }) => body.requestId)).size).toBe(1)
  expect(await scheduledOf(service, own)).toHaveLength(1)
})
