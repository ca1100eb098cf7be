import { setTimeout as sleep } from 'node:timers/promises'
import { eq } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { readUsage } from '../../db/counters/usage.ts'
import { channels } from '../../db/schema.ts'
import { addSuppression } from '../../db/suppression/entries.ts'
import { attemptedSend, beginAttempt, rowOf, timelineOf } from '../support/attempts.ts'
import { accept, buildAccount, buildChannel, buildKey, newContact, textBody } from '../support/builders.ts'
import { runCli } from '../support/cli.ts'
import { expectError } from '../support/expect-error.ts'
import {
  cancel,
  eastOfGreenwich,
  inSeconds,
  list,
  makeDue,
  move,
  moveDue,
  scheduledOf,
  taken,
} from '../support/later.ts'
import { wakeUpOf } from '../support/queue.ts'
import { serviceOfFile, testSuppressionKey } from '../support/service.ts'
import { eventually } from '../support/wait.ts'

const service = await serviceOfFile()
const account = await buildAccount(service)
const scheduled = (more: object = {}) =>
  accept(service, account, { ...textBody(), sendAt: inSeconds(3600), ...more })

test('a scheduled send is moved, with the answer and the events of each of its times', async () => {
  const first = inSeconds(3600)
  const requestId = await scheduled({ sendAt: first, reference: 'r', flowId: account.flowId })
  const times = [inSeconds(7200), inSeconds(1800)]
  for (const sendAt of times) {
    const { status, body } = await move(service, account, requestId, { sendAt: eastOfGreenwich(sendAt) })
    const { events: _, ...summary } = await timelineOf(service, requestId)
    expect([status, body]).toStrictEqual([200, JSON.parse(JSON.stringify(summary))])
    expect(body).toMatchObject({ requestId, status: 'queued', sendAt, reference: 'r' })
  }
  const { events, acceptedAt } = await timelineOf(service, requestId)
  expect(events).toMatchObject([
    { event: 'accepted', at: acceptedAt },
    ...[first, ...times].map((sendAt) => ({ event: 'scheduled', sendAt })),
  ])
  expect(events[1]?.at).toBe(acceptedAt)
  const [listed] = (await list(service, account, { reference: 'r' })).body.messages
  expect(listed.sendAt).toBe(times[1])
  const lines = service.logsOf(requestId).filter(({ event }) => event === 'scheduled')
  expect(lines.map(({ sendAt }) => sendAt)).toEqual([first, ...times])
  expect((await runCli(service, 'trace', requestId)).status).toBe(0)
})

test('expiry and order count from the new time', async () => {
  const contact = newContact()
  const [first, second] = [await scheduled(textBody('1', contact)), await scheduled(textBody('2', contact))]
  expect((await move(service, account, first, { sendAt: inSeconds(7200) })).status).toBe(200)
  await service.runtime.db.update(channels).set({ expireAfterSeconds: 60 })
  await makeDue(service, second)
  await moveDue(service)
  await makeDue(service, first)
  await moveDue(service)
  await service.runtime.db.update(channels).set({ expireAfterSeconds: null })
  const rows = [await rowOf(service, first), await rowOf(service, second)] as const
  expect(rows[0].seq).toBeGreaterThan(rows[1].seq)
  expect(rows[0].behind).toBe(second)
  for (const { expiresAt } of rows)
    expect(Math.abs((expiresAt?.getTime() ?? 0) - Date.now() - 60_000)).toBeLessThan(30_000)
})

test('moved to now, it is sent now', async () => {
  const requestId = await scheduled()
  const worker = await service.startWorker('mover')
  expect((await move(service, account, requestId, { sendAt: inSeconds(-5) })).status).toBe(200)
  await eventually('it is sent', async () => (await timelineOf(service, requestId)).status === 'sent')
  await worker.stop()
  expect(await wakeUpOf(service, requestId)).toBeUndefined()
})

test.each<[unknown, string | RegExp]>([
  ['', /^body: is empty/],
  ['x', 'body: not valid JSON'],
  [[], /^body: /],
  [{}, 'body: give sendAt or contact, or both'],
  [{ sendAt: null }, 'body: give sendAt or contact, or both'],
  [{ contact: { value: '12' } }, /^contact\.value: /],
  [{ contact: { value: 'ann@example.com' } }, /^contact\.value: .*set contact\.type/],
  [{ contact: { value: newContact(), type: 'fax' } }, /^contact\.type: /],
  [{ contact: { value: newContact(), names: 'Ann' } }, 'contact.names: unknown field'],
  [{ sendAt: 1_795_446_371 }, /^sendAt: has to be a string/],
  [{ sendAt: 'soon' }, /^sendAt: has to be a time with its offset/],
  [{ sendAt: inSeconds(60).replace('Z', '') }, /^sendAt: has to be a time with its offset/],
  [{ sendAt: inSeconds(-62) }, 'sendAt: more than 60 s ago'],
  [{ sendAt: inSeconds(30 * 86_400 + 60) }, 'sendAt: more than 30 days ahead'],
  [{ sendAt: inSeconds(60), reference: 'x' }, 'reference: unknown field'],
])('%j is a 400, as at the accept, and the send stays as it is', async (body, message) => {
  const requestId = await scheduled()
  const before = await timelineOf(service, requestId)
  expectError(await move(service, account, requestId, body), 400, message)
  expect(await timelineOf(service, requestId)).toEqual(before)
})

test('a scheduled send is given to another contact, alone and with another time, and goes to this one', async () => {
  const [first, second, third] = [newContact(), newContact(), newContact()]
  const sendAt = inSeconds(3600)
  const requestId = await scheduled({ sendAt, contact: { value: first, name: 'Ann' } })
  const contactOf = (body: { contact: object }) => body.contact
  const alone = await move(service, account, requestId, { contact: { value: second } })
  expect([alone.status, contactOf(alone.body)]).toEqual([200, { type: 'phone', value: second }])
  expect(alone.body).toMatchObject({ sendAt, status: 'queued' })
  const later = inSeconds(7200)
  const both = await move(service, account, requestId, {
    sendAt: later,
    contact: { value: third, name: 'Ben' },
  })
  expect([both.status, contactOf(both.body)]).toEqual([200, { type: 'phone', value: third, name: 'Ben' }])
  const { events } = await timelineOf(service, requestId)
  const contactChanged = true
  expect(events).toMatchObject([
    { event: 'accepted' },
    { event: 'scheduled', sendAt },
    { event: 'scheduled', sendAt, contactChanged },
    { event: 'scheduled', sendAt: later, contactChanged },
  ])
  const same = await move(service, account, requestId, {
    sendAt,
    contact: { value: third, name: 'Ben' },
  })
  expect(same.status).toBe(200)
  expect((await timelineOf(service, requestId)).events.at(-1)).not.toHaveProperty('contactChanged')
  const listed = async (contact: string) => (await list(service, account, { contact })).body.messages.length
  expect(await Promise.all([first, second, third].map(listed))).toEqual([0, 0, 1])
  await makeDue(service, requestId)
  await moveDue(service)
  expect(await rowOf(service, requestId)).toMatchObject({ contactValue: third, contactName: 'Ben' })
})

test('a send that goes to a contact of another type has the segments of this one, in its timeline and in the usage', async () => {
  const own = await buildAccount(service)
  const text = textBody('a'.repeat(161))
  const requestId = await accept(service, own, { ...text, sendAt: inSeconds(3600) })
  const span = { from: inSeconds(0).slice(0, 10), to: inSeconds(86_400).slice(0, 10) }
  const usedSegments = async () =>
    (await readUsage(service.runtime.db, own.accountId, { ...span, groupBy: [] }))[0]?.segments
  const mail = { value: 'ann@example.com', type: 'email' }
  for (const [contact, segments, encoding] of [
    [{ value: newContact() }, 2, 'gsm-7'],
    [mail, null, null],
    [{ ...mail, name: 'Ann' }, null, null],
    [{ value: newContact() }, 2, 'gsm-7'],
  ] as const) {
    const { body } = await move(service, own, requestId, { contact })
    expect(body).toMatchObject({ segments, encoding })
    expect(await usedSegments()).toBe(segments ?? 0)
  }
})

test('a new contact that its channel does not reach, or that its mail can not go to, is a 400, and nothing changes', async () => {
  const channelId = await buildChannel(service, account.accountId)
  await service.runtime.db.update(channels).set({ provider: 'twilio' }).where(eq(channels.id, channelId))
  const bySms = await accept(service, { ...account, channelId }, { ...textBody(), sendAt: inSeconds(3600) })
  const mail = await scheduled({
    contact: { value: 'ann@example.com', type: 'email' },
    email: { subject: 'Hello' },
  })
  for (const [id, contact, message] of [
    [bySms, { value: 'ann@example.com', type: 'email' }, /^contact\.type: this channel reaches phone/],
    [mail, { value: newContact() }, 'email: only to a contact of the type email'],
  ] as const) {
    const before = await timelineOf(service, id)
    expectError(await move(service, account, id, { contact, sendAt: inSeconds(60) }), 400, message)
    expect(await timelineOf(service, id)).toEqual(before)
  }
})

test('a send that is given to a suppressed contact fails when it is due', async () => {
  const value = newContact()
  const requestId = await scheduled()
  await addSuppression(
    service.runtime.db,
    { accountId: account.accountId, contact: { type: 'phone', value }, channelId: null },
    null,
    testSuppressionKey,
  )
  expect((await move(service, account, requestId, { contact: { value } })).status).toBe(200)
  await makeDue(service, requestId)
  const worker = await service.startWorker('of the suppressed')
  await eventually('it fails', async () => (await timelineOf(service, requestId)).status === 'failed')
  await worker.stop()
})

test('once it is due, canceled or has ended, it is a 409, and stays as it is', async () => {
  const due = await scheduled()
  await makeDue(service, due)
  const canceled = await scheduled()
  await cancel(service, account, canceled)
  const unscheduled = await accept(service, account, textBody())
  const sending = await accept(service, account, textBody())
  await beginAttempt(service, sending, 'busy')
  const sent = await attemptedSend(service, account, { outcome: 'sent', providerMessageId: 'm' })
  for (const [id, word] of [
    [due, 'due'],
    [canceled, 'canceled'],
    [unscheduled, 'due'],
    [sending, 'sending'],
    [sent, 'sent'],
  ] as const) {
    const before = await timelineOf(service, id)
    const answer = await move(service, account, id, { sendAt: inSeconds(60) })
    expectError(answer, 409, `The send is ${word}: only one that waits for its time can be moved.`)
    expect(await timelineOf(service, id)).toEqual(before)
  }
})

test('an absent send, one of another account, and an id of none are the same 404; other permissions change nothing', async () => {
  const foreign = await accept(service, await buildAccount(service), {
    ...textBody(),
    sendAt: inSeconds(3600),
  })
  const before = await timelineOf(service, foreign)
  for (const id of [foreign, '01a1fde3-04b0-709e-bec0-b940cc7af3c0', 'x', 'cancel', 'batch'])
    expectError(await move(service, account, id, { sendAt: inSeconds(60) }), 404, 'Message not found')
  expect(await timelineOf(service, foreign)).toEqual(before)
  const requestId = await scheduled()
  const reader = await buildKey(service, account.accountId, { permissions: ['messages:read'] })
  const revoked = await buildKey(service, account.accountId, { revoked: true })
  expectError(await move(service, reader, requestId, { sendAt: inSeconds(60) }), 403)
  expectError(await move(service, revoked, requestId, { sendAt: inSeconds(60) }), 401)
  expect((await timelineOf(service, requestId)).events).toHaveLength(2)
})

test('moves of one send at the same moment are all recorded, and the last one counts', async () => {
  const requestId = await scheduled()
  const times = Array.from({ length: 5 }, (_, n) => inSeconds(4000 + n * 10))
  const answers = await Promise.all(
    times.map((sendAt) => taken(() => move(service, account, requestId, { sendAt }))),
  )
  expect(answers.map(({ status }) => status)).toEqual(times.map(() => 200))
  const { events, sendAt, acceptedAt } = await timelineOf(service, requestId)
  const [accepted, atAccept, ...later] = events as { at: string; event: string; sendAt?: string }[]
  expect([accepted?.event, atAccept?.event, atAccept?.at]).toEqual(['accepted', 'scheduled', acceptedAt])
  expect([...new Set(later.map((event) => event.sendAt))].sort()).toEqual(times)
  expect(later.at(-1)?.sendAt).toBe(sendAt)
})

test('a move at the moment when it falls due: what got a 200 waits for its new time, what got a 409 is due', async () => {
  const sendAt = inSeconds(3600)
  const statuses = new Set<number>()
  // The first has a minute left, the last is due already; those between fall due within 20 ms.
  const dueIn = [60, ...Array.from({ length: 30 }, (_, n) => n / 1500), -1]
  for (const seconds of dueIn) {
    const id = await scheduled()
    await makeDue(service, id, -seconds)
    const { sendAt: former } = await timelineOf(service, id)
    const [, { status }] = await Promise.all([
      sleep(Math.max(0, Math.min(seconds * 1000, 30))).then(() => moveDue(service)),
      sleep(10).then(() => taken(() => move(service, account, id, { sendAt }))),
    ])
    await moveDue(service)
    const waiting = (await scheduledOf(service, account)).find(({ requestId }) => requestId === id)
    if (status === 200) expect(waiting?.sendAt.toISOString()).toBe(sendAt)
    else {
      expect(status).toBe(409)
      expect(await timelineOf(service, id)).toMatchObject({ sendAt: former, status: 'queued' })
      expect((await rowOf(service, id)).sendAt?.toISOString()).toBe(former)
    }
    statuses.add(status)
  }
  expect(statuses.size).toBe(2)
})

test('a move and a cancel at the same moment end in a canceled send, and neither is lost', async () => {
  const sendAt = inSeconds(7200)
  for (let turn = 0; turn < 30; turn++) {
    const id = await scheduled()
    const [moved, canceled] = await Promise.all([
      sleep(turn % 5).then(() => move(service, account, id, { sendAt })),
      sleep((turn * 3) % 5).then(() => taken(() => cancel(service, account, id))),
    ])
    expect(canceled.body).toEqual({ requestId: id, status: 'canceled' })
    const timeline = await timelineOf(service, id)
    expect(timeline.status).toBe('canceled')
    // It may have waited too long on a slow machine, and is moved or not.
    if (moved.status === 503) continue
    expect([200, 409]).toContain(moved.status)
    expect(timeline.sendAt === sendAt).toBe(moved.status === 200)
    const times = timeline.events.filter(({ event }) => event === 'scheduled')
    expect(times).toHaveLength(moved.status === 200 ? 2 : 1)
  }
})
