import { eq } from 'drizzle-orm'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { revokeApiKey } from '../../db/accounts/api-keys.ts'
import { updateChannel } from '../../db/accounts/channels.ts'
import { moveDueSends } from '../../db/admission/scheduled-sends.ts'
import { connectDatabase } from '../../db/connection/client.ts'
import { scheduledSends } from '../../db/schema.ts'
import { readBacklog } from '../../db/sends/backlog.ts'
import { listSends, type SendsQuery } from '../../db/sends/list.ts'
import { eraseContact } from '../../db/upkeep/erase.ts'
import type { ListCursor } from '../../src/core/requests/list-query.ts'
import { namesOf, received, rowOf, timelineOf } from '../support/attempts.ts'
import {
  type Account,
  accept,
  buildAccount,
  buildChannel,
  buildKey,
  newContact,
  textBody,
} from '../support/builders.ts'
import { runCli } from '../support/cli.ts'
import { acceptAtOnce, inSeconds, makeDue, moveDue, scheduledOf } from '../support/later.ts'
import { finishedTimeline, neverReconciled, startTestService, type TestService } from '../support/service.ts'
import { expectSooner, timed } from '../support/standstill.ts'

let service: TestService
let account: Account

beforeAll(async () => {
  service = await startTestService()
  account = await buildAccount(service)
})
afterEach(() => service.stopWorkers())
afterAll(() => service.stop())

/** The object that a command prints. */
const cli = async (...args: string[]) => JSON.parse((await runCli(service, ...args)).stdout)
/** The line of a command that fails. */
const cliError = async (...args: string[]) => (await runCli(service, ...args)).stderr

const later = (body: object = textBody(), by = account) =>
  accept(service, by, { ...body, sendAt: inSeconds(3600) })

test('a worker sends it at its time, not before, woken by no reconciler', async () => {
  await service.startWorker('w', { times: neverReconciled })
  const sendAt = inSeconds(1.5)
  const requestId = await accept(service, account, { ...textBody(), sendAt })
  const { events, stoodStillMs } = await timed(() => finishedTimeline(service, requestId, account.apiKey))
  expect(events.map(({ event }) => event)).toEqual([
    'accepted',
    'scheduled',
    'attempt_started',
    'attempt_finished',
    'sent',
  ])
  const started = events.find(({ event }) => event === 'attempt_started')
  const lateMs = Date.parse(started?.at ?? '') - Date.parse(sendAt)
  expect(lateMs).toBeGreaterThanOrEqual(0)
  expectSooner({ tookMs: lateMs, stoodStillMs }, 5000)
})

test('a scheduled send delays no other send to its contact, and takes its place when its time has come', async () => {
  const contact = newContact()
  const scheduled = await later(textBody('scheduled', contact))
  const before = await accept(service, account, textBody('before', contact))
  await makeDue(service, scheduled)
  expect(await moveDue(service)).toEqual([{ requestId: scheduled, overflowOf: null, isBehind: true }])
  const after = await accept(service, account, textBody('after', contact))
  const rows = await Promise.all([before, scheduled, after].map((id) => rowOf(service, id)))
  expect(rows.map(({ behind }) => behind)).toEqual([null, before, scheduled])
  expect(new Set(rows.map(({ lane }) => lane)).size).toBe(1)
  await service.startWorker()
  for (const id of [before, scheduled, after]) await finishedTimeline(service, id, account.apiKey)
  const [first, second, third] = await Promise.all([before, scheduled, after].map((id) => rowOf(service, id)))
  expect(Number(first?.finishedAt)).toBeLessThanOrEqual(Number(second?.claimedAt))
  expect(Number(second?.finishedAt)).toBeLessThanOrEqual(Number(third?.claimedAt))
})

test('sends that are due at once join in the order of their times, and of their accepts, however they are paged', async () => {
  const contact = newContact()
  const sendAt = inSeconds(3600)
  const messages = Array.from({ length: 20 }, (_, n) => ({ ...textBody(String(n), contact), sendAt }))
  const ids = await acceptAtOnce(service, account, messages)
  const past = new Date(Date.now() - 1000)
  await service.runtime.db
    .update(scheduledSends)
    .set({ sendAt: past })
    .where(eq(scheduledSends.sendAt, new Date(sendAt)))
  const first = await later(textBody('first', contact))
  await makeDue(service, first, 10)
  const pages = await Promise.all(Array.from({ length: 8 }, () => moveDueSends(service.runtime.db, 3)))
  while ((await moveDueSends(service.runtime.db, 3)).length > 0);
  expect(pages.some((page) => page.length === 3)).toBe(true)
  const rows = await Promise.all([first, ...ids].map((id) => rowOf(service, id)))
  const order = rows.map(({ seq }) => seq as bigint)
  expect(order).toEqual([...order].sort((a, b) => (a < b ? -1 : 1)))
  expect(rows.map(({ behind }) => behind)).toEqual([null, first, ...ids.slice(0, -1)])
})

test('its quota and its expiry count from its time, by the present settings of its channel', async () => {
  const channelId = await buildChannel(service, account.accountId)
  const by = { ...account, channelId }
  const ids: string[] = []
  for (let n = 0; n < 18; n++) ids.push(await later(textBody(), by))
  await updateChannel(service.runtime.db, channelId, { expireAfterSeconds: 60 })
  for (const id of ids) await makeDue(service, id, 1000)
  const moved = await moveDue(service)
  expect(moved.map(({ requestId }) => requestId).sort()).toEqual([...ids].sort())
  expect(moved.filter(({ overflowOf }) => overflowOf === channelId)).toHaveLength(2)
  const { expiresAt } = await rowOf(service, ids[0] ?? '')
  expect(Math.abs(Number(expiresAt) - Date.now() - 60_000)).toBeLessThan(20_000)
})

test('a key that is revoked meanwhile does not stop it', async () => {
  const key = await buildKey(service, account.accountId)
  const requestId = await later(textBody(), { ...account, ...key })
  await revokeApiKey(service.runtime.db, key.keyId)
  await makeDue(service, requestId)
  await service.startWorker()
  expect((await finishedTimeline(service, requestId, account.apiKey)).status).toBe('sent')
})

test('a channel that is deleted meanwhile fails it, and one that was accepted during the deletion at its time', async () => {
  const by = { ...account, channelId: await buildChannel(service, account.accountId) }
  const first = await later(textBody(), by)
  expect(await cli('channel', 'delete', by.channelId)).toMatchObject({ failed: 1 })
  expect(await timelineOf(service, first)).toMatchObject({ status: 'failed', attempts: 0 })
  // The API knows of a deletion only some seconds later.
  const second = await later(textBody(), by).catch(() => undefined)
  if (second === undefined) return
  await makeDue(service, second)
  await service.startWorker()
  const timeline = await finishedTimeline(service, second, account.apiKey)
  expect(timeline.events.at(-1)).toMatchObject({ event: 'failed', reason: 'its channel was deleted' })
  expect(await received(service, second)).toEqual([])
})

test('while Redis has lost its wake-ups, due sends still go', async () => {
  const ids = await Promise.all(Array.from({ length: 5 }, () => later()))
  for (const id of ids) await makeDue(service, id)
  await moveDue(service)
  await service.runtime.redis.flushdb()
  await service.startWorker()
  for (const id of ids) expect((await finishedTimeline(service, id, account.apiKey)).status).toBe('sent')
})

describe('support', () => {
  test('finds it by contact, reference and state, and trace explains what it waits for', async () => {
    const { db } = service.runtime
    const contactValue = newContact()
    const sendAt = inSeconds(7200)
    const requestId = await accept(service, account, {
      ...textBody('a', contactValue),
      sendAt,
      reference: 'find me',
    })
    const contact = { type: 'phone', value: contactValue } as const
    const ids = async (query: Partial<SendsQuery>) =>
      (await listSends(db, undefined, { limit: 50, ...query })).sends.map((send) => send.requestId)
    expect(await ids({ contact })).toEqual([requestId])
    expect(await ids({ reference: 'find me' })).toEqual([requestId])
    expect(await ids({ scheduled: true })).toContain(requestId)
    expect(await ids({ channelId: account.channelId, status: 'queued', scheduled: false })).not.toContain(
      requestId,
    )
    expect(await ids({})).toContain(requestId)
    expect(await cli('trace', requestId)).toMatchObject({ requestId, status: 'queued', sendAt })
    await makeDue(service, requestId)
    await moveDue(service)
    expect(await ids({ reference: 'find me' })).toEqual([requestId])
    expect(await ids({ scheduled: true })).not.toContain(requestId)
  })

  test('a reference narrows a list by contact', async () => {
    const { db } = service.runtime
    const contactValue = newContact()
    const send = (more: object) => accept(service, account, { ...textBody('a', contactValue), ...more })
    const sendAt = inSeconds(7200)
    const [now, scheduled] = [
      await send({ reference: 'narrow' }),
      await send({ reference: 'narrow', sendAt }),
    ]
    await send({ reference: 'other' })
    await send({ sendAt })
    const contact = { type: 'phone', value: contactValue } as const
    const { sends } = await listSends(db, undefined, { limit: 50, contact, reference: 'narrow' })
    expect(sends.map(({ requestId }) => requestId)).toEqual([scheduled, now])
  })

  test('a page of all accounts ends where one of the tables was left, so that no send is skipped', async () => {
    const { db } = service.runtime
    const own = { ...account, channelId: await buildChannel(service, account.accountId) }
    const batch = async (count: number, more: object, by = own) =>
      await acceptAtOnce(
        service,
        by,
        Array.from({ length: count }, () => ({ ...textBody(), ...more })),
      )
    const made = [...(await batch(51, { sendAt: inSeconds(7200) })), ...(await batch(1, {}))]
    await batch(60, {}, account)
    const found: string[] = []
    let after: ListCursor | undefined
    do {
      const page = await listSends(db, undefined, { limit: 50, after }, 60)
      found.push(
        ...page.sends.filter((send) => send.channelId === own.channelId).map(({ requestId }) => requestId),
      )
      after = page.next
    } while (after !== undefined && found.length < made.length)
    // Sends of one batch are not in its order.
    expect(found).toEqual(made.toSorted().reverse())
  })

  test('the command cancel ends it, whose account it may be, and refuses what has ended', async () => {
    const requestId = await later()
    expect(await cli('cancel', requestId)).toEqual({ requestId, status: 'canceled' })
    expect(await cli('cancel', requestId)).toEqual({ requestId, status: 'canceled' })
    const sent = await accept(service, account, textBody())
    await service.startWorker()
    await finishedTimeline(service, sent, account.apiKey)
    expect(await cliError('cancel', sent)).toContain(
      `${sent} is sent: only a send that waits can be canceled`,
    )
    expect(await cliError('cancel', 'x')).toContain('No send x')
    expect(await cliError('replay', requestId)).toContain('was canceled')
  })

  test('an erasure counts it as unfinished, and erases it with its reference once it is canceled', async () => {
    const { db } = service.runtime
    const value = newContact()
    const requestId = await accept(service, account, {
      ...textBody('a', value),
      sendAt: inSeconds(7200),
      reference: 'Ann',
    })
    const contactOf = { accountId: account.accountId, contact: { type: 'phone', value } } as const
    expect(await eraseContact(db, contactOf)).toEqual({ erased: 0, unfinished: 1 })
    await cli('cancel', requestId)
    expect(await eraseContact(db, contactOf)).toEqual({ erased: 1, unfinished: 0 })
    const timeline = await timelineOf(service, requestId)
    expect(timeline).toMatchObject({ contact: { value: 'erased' }, reference: null, status: 'canceled' })
    expect(namesOf(timeline)).toEqual(['accepted', 'scheduled', 'canceled', 'erased'])
  })

  test('the metrics count it, and how long it has been due', async () => {
    const { db } = service.runtime
    const before = await readBacklog(db)
    const requestId = await later()
    expect((await readBacklog(db)).scheduled).toBe(before.scheduled + 1)
    expect(before.oldestWaiting.scheduled).toBe(0)
    await makeDue(service, requestId, 100)
    expect((await readBacklog(db)).oldestWaiting.scheduled).toBeCloseTo(100, -1)
    await moveDue(service)
    expect((await readBacklog(db)).oldestWaiting.scheduled).toBe(0)
  })
})

test('a worker that moves holds no other up: two at once move each send once', async () => {
  const other = connectDatabase(service.stores.databaseUrl, {
    poolSize: 1,
    queryTimeoutMs: 5000,
    onConnectionLost: () => {},
  })
  const ids = await Promise.all(Array.from({ length: 30 }, () => later()))
  for (const id of ids) await makeDue(service, id)
  const moves = []
  for (let n = 0; n < 10; n++) moves.push(moveDueSends(n % 2 ? other : service.runtime.db, 5))
  const moved = (await Promise.all(moves)).flat()
  for (let more = await moveDue(service); more.length > 0; more = await moveDue(service)) moved.push(...more)
  expect(moved.map(({ requestId }) => requestId).sort()).toEqual([...ids].sort())
  expect(
    await scheduledOf(service, account).then((rows) =>
      rows.filter(({ requestId }) => ids.includes(requestId)),
    ),
  ).toEqual([])
  await other.$client.end()
})
