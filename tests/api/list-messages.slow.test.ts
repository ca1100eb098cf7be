import { setTimeout as sleep } from 'node:timers/promises'
import { eq } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { recordReceipts } from '../../db/receipts/receipts.ts'
import { sends } from '../../db/schema.ts'
import { listSends } from '../../db/sends/list.ts'
import { eraseSends } from '../../db/upkeep/erase.ts'
import type { ListCursor } from '../../src/core/requests/list-query.ts'
import { newId } from '../../src/core/requests/new-id.ts'
import type { AttemptOutcome } from '../../src/core/sends/outcome.ts'
import { attemptedSend, timelineOf } from '../support/attempts.ts'
import { acceptBatch, manyOf } from '../support/batches.ts'
import {
  type Account,
  accept,
  buildAccount,
  buildChannel,
  buildKey,
  post,
  request,
  textBody,
} from '../support/builders.ts'
import { expectError } from '../support/expect-error.ts'
import {
  acceptAtOnce,
  cancel,
  inSeconds,
  list,
  listAll,
  makeDue,
  moveDue,
  postBatch,
} from '../support/later.ts'
import { buildReceipt } from '../support/receipts.ts'
import { serviceOfFile } from '../support/service.ts'
import { timed, unlessStoodStill } from '../support/standstill.ts'

const service = await serviceOfFile()

test('it lists sends of both tables, newest first, each as its timeline without events', async () => {
  const account = await buildAccount(service)
  const ids = [
    await accept(service, account, {
      ...textBody(),
      contact: { value: '+4915112345678', name: 'Ann' },
      reference: 'a',
    }),
    await accept(service, account, { ...textBody(), sendAt: inSeconds(3600) }),
    await accept(service, account, { ...textBody(), flowId: account.flowId }),
  ]
  const { status, headers, body } = await list(service, account)
  expect(status).toBe(200)
  expect(body).toStrictEqual({
    requestId: headers.get('X-Request-Id'),
    messages: expect.any(Array),
    next: null,
  })
  const expected = await Promise.all(ids.toReversed().map((id) => timelineOf(service, id)))
  expect(body.messages).toStrictEqual(
    expected.map(({ events: _, ...summary }) => JSON.parse(JSON.stringify(summary))),
  )
})

test('each filter lists what it names, in both tables', async () => {
  const account = await buildAccount(service)
  const other = await buildChannel(service, account.accountId)
  const at = { apiKey: account.apiKey, channelId: other }
  const send = (more: object, by: Pick<Account, 'apiKey' | 'channelId'> = account) =>
    accept(service, by, { ...textBody(), ...more })
  const sendAt = inSeconds(3600)
  const contact = { value: '+4915199999999' }
  const plain = await send({})
  const here = await send({ contact, reference: 'r', flowId: account.flowId }, at)
  const later = await send({ contact, reference: 'r', flowId: account.flowId, sendAt }, at)
  const canceled = await send({ sendAt })
  await cancel(service, account, canceled)
  const failed = await send({})
  await service.runtime.db
    .update(sends)
    .set({ status: 'failed', failure: 'x', finishedAt: new Date() })
    .where(eq(sends.requestId, failed))
  const of = async (query: Record<string, string>) => await listAll(service, account, query)
  const matching = {
    contact: '0049 (0)151\u00a099999999',
    reference: 'r',
    channelId: other,
    flowId: account.flowId,
  }
  for (const [name, value] of Object.entries(matching))
    expect(await of({ [name]: value }), name).toEqual([later, here])
  expect(await of(matching)).toEqual([later, here])
  expect(await of({ ...matching, status: 'queued', limit: '1' })).toEqual([later, here])
  expect(await of({ ...matching, status: 'sent' })).toEqual([])
  expect(await of({ status: 'queued' })).toEqual([later, here, plain])
  expect(await of({ status: 'canceled' })).toEqual([canceled])
  expect(await of({ status: 'failed' })).toEqual([failed])
  expect(await of({ status: 'sending' })).toEqual([])
  await service.runtime.db
    .update(sends)
    .set({ status: 'sent', finishedAt: new Date(), delivery: 'read', deliveryAt: new Date() })
    .where(eq(sends.requestId, plain))
  expect(await of({ delivery: 'read' })).toEqual([plain])
  expect(await of({ delivery: 'read', status: 'sent' })).toEqual([plain])
  expect(await of({ delivery: 'delivered' })).toEqual([])
  expect(await of({ delivery: 'read', status: 'queued' })).toEqual([])
  expect(await of({ reference: 'R' })).toEqual([])
  const { acceptedAt } = await timelineOf(service, later)
  expect(await of({ acceptedFrom: acceptedAt })).toEqual([failed, canceled, later])
  const next = new Date(Date.parse(acceptedAt) + 1).toISOString()
  expect(await of({ acceptedTo: next, acceptedFrom: acceptedAt })).toEqual([later])
  expect(
    await of({ acceptedFrom: '0000-01-01T00:00:00Z', acceptedTo: '9999-12-31T23:59:59-23:59' }),
  ).toHaveLength(5)
  for (const [name, value] of [
    ['channelId', 'x'],
    ['channelId', '\0'],
    ['flowId', '01a1fde3-04b0-709e-bec0-b940cc7af3c0'],
    ['contact', '+4915100000000'],
  ] as const)
    expect(await of({ [name]: value }), name).toEqual([])
})

test('it says why each send ended, or was not delivered, as its timeline does, and filters by the code', async () => {
  const account = await buildAccount(service)
  const ended = async (outcome: AttemptOutcome) => await attemptedSend(service, account, outcome)
  const waits = await accept(service, account, textBody())
  await accept(service, account, { ...textBody(), sendAt: inSeconds(3600) })
  const refused: AttemptOutcome = { outcome: 'rejected', fault: 'recipient', reason: 'refused' }
  const failed = await ended({ ...refused, providerCode: '131026' })
  const withoutCode = await ended(refused)
  const held = await ended({ outcome: 'sent', providerMessageId: 'm', providerCode: 'held_for_quality' })
  const reported = await ended({ outcome: 'sent', providerMessageId: 'm' })
  const arrived = await ended({ outcome: 'sent', providerMessageId: 'm', providerCode: '131026' })
  const report = { providerMessageId: 'm', providerCode: '131026', reason: 'no such number' }
  const { db } = service.runtime
  await recordReceipts(db, [buildReceipt(reported, account.channelId, 'undelivered', report)])
  await recordReceipts(db, [buildReceipt(arrived, account.channelId, 'undelivered', report)])
  await recordReceipts(db, [buildReceipt(arrived, account.channelId, 'delivered', report)])
  const { body } = await list(service, account)
  const found = new Map(body.messages.map((send: { requestId: string }) => [send.requestId, send]))
  const none = { reason: null, providerCode: null, sentThrough: null }
  for (const [id, expected] of [
    [waits, none],
    [failed, { reason: 'refused', providerCode: '131026' }],
    [withoutCode, { reason: 'refused', providerCode: null }],
    [held, { reason: null, providerCode: 'held_for_quality' }],
    [reported, { reason: 'no such number', providerCode: '131026' }],
    [arrived, { reason: null, providerCode: '131026' }],
  ] as const) {
    expect(found.get(id), id).toMatchObject(expected)
    const { events, ...timeline } = await timelineOf(service, id)
    expect(found.get(id)).toStrictEqual(JSON.parse(JSON.stringify(timeline)))
    const reasons = events.map((event) => ('reason' in event ? event.reason : null))
    if (expected.reason) expect(reasons).toContain(expected.reason)
  }
  const of = async (query: Record<string, string>) => await listAll(service, account, query)
  expect(await of({ providerCode: '131026' })).toEqual([arrived, reported, failed])
  expect(await of({ providerCode: '131026', delivery: 'undelivered' })).toEqual([reported])
  expect(await of({ providerCode: '131026', status: 'failed', limit: '1' })).toEqual([failed])
  expect(await of({ providerCode: '131026', status: 'queued' })).toEqual([])
  expect(await of({ providerCode: 'held_for_quality' })).toEqual([held])
  for (const unknown of ['131027', '13102', "'", '💥', 'null']) {
    expect((await list(service, account, { providerCode: unknown })).body.messages, unknown).toEqual([])
  }
  await eraseSends(db, [failed, reported])
  const erased = (await list(service, account, { providerCode: '131026' })).body.messages
  expect(erased.slice(1)).toMatchObject([
    { requestId: reported, reason: null },
    { requestId: failed, reason: null },
  ])
})

test('an account sees its own sends only, whatever it filters by', async () => {
  const account = await buildAccount(service)
  const foreign = await buildAccount(service)
  for (const sendAt of [undefined, inSeconds(3600)])
    await accept(service, foreign, { ...textBody('a', '+4915188888888'), reference: 'shared', sendAt })
  const queries: Record<string, string>[] = [
    {},
    { reference: 'shared' },
    { contact: '+4915188888888' },
    { channelId: foreign.channelId },
    { status: 'queued' },
  ]
  for (const query of queries)
    expect((await list(service, account, query)).body).toMatchObject({ messages: [], next: null })
})

test('it needs the permission to read; a faulty query is a 400 that names the parameters, and is not logged', async () => {
  const account = await buildAccount(service)
  const sender = await buildKey(service, account.accountId, { permissions: ['messages:send'] })
  expectError(await list(service, sender), 403)
  expectError(await list(service, { apiKey: 'omk_x' }), 401)
  const answer = await list(service, account, { limit: '0', contact: 'nobody@', secret: '+4915177777777' })
  expectError(answer, 400, /^(?=.*limit: )(?=.*contact: )(?=.*secret: unknown parameter)/)
  await list(service, account, { contact: '+4915177777777' })
  expect(JSON.stringify(service.logs)).not.toMatch(/15177777777|nobody@/)
  const headers = { Authorization: `Bearer ${account.apiKey}` }
  expectError(
    await request(service, '/v1/messages?limit=1&limit=1', { headers }),
    400,
    'limit: given more than once',
  )
})

test('while sends are accepted, moved and canceled, each that is there from the first page to the last comes exactly once', async () => {
  const account = await buildAccount(service)
  const later = { sendAt: inSeconds(3600) }
  const before: string[] = []
  for (let batch = 0; batch < 3; batch++) {
    const messages = Array.from({ length: 50 }, (_, n) => ({ ...textBody(), ...(n % 3 === 0 && later) }))
    before.push(...(await acceptAtOnce(service, account, messages)))
  }
  let turn = 0
  const disturb = async () => {
    const id = before[(turn++ * 37) % before.length] ?? ''
    await makeDue(service, id)
    await Promise.all([
      moveDue(service),
      postBatch(service, account, [textBody(), { ...textBody(), ...later }]),
      cancel(service, account, before[(turn * 53) % before.length] ?? ''),
    ])
  }
  const queries: Record<string, string>[] = [{ limit: '7' }, { limit: '10', channelId: account.channelId }]
  for (const query of queries) {
    const ids = await listAll(service, account, query, disturb)
    expect(new Set(ids).size).toBe(ids.length)
    expect(before.filter((id) => !ids.includes(id))).toEqual([])
  }
})

test('a page that has looked at its limit of sends goes on where it stopped, in both tables', async () => {
  const account = await buildAccount(service)
  const { db } = service.runtime
  const rare: string[] = []
  for (let round = 0; round < 4; round++) {
    await acceptBatch(service, manyOf(13, account))
    for (const sendAt of [undefined, inSeconds(3600)]) {
      rare.push(await accept(service, account, { ...textBody(), flowId: account.flowId, sendAt }))
      await accept(service, account, { ...textBody(), sendAt: inSeconds(3600) })
    }
  }
  const found: string[] = []
  let pages = 0
  let after: ListCursor | undefined
  do {
    const page = await listSends(db, account.accountId, { limit: 3, flowId: account.flowId, after }, 5)
    expect(page.sends.length).toBeLessThanOrEqual(3)
    found.push(...page.sends.map(({ requestId }) => requestId))
    after = page.next
    pages++
  } while (after && pages < 100)
  expect(found).toEqual(rare.toReversed())
  expect(pages).toBeGreaterThan(8)
})

/** Some sends in one table, then some in the other, with ones of a flow among them: fewer in `sends`. @returns those, newest first. */
async function mixSends({ accountId, channelId, flowId }: Account): Promise<string[]> {
  const made = Array.from({ length: 60 }, (_, n) => ({
    id: newId(),
    isScheduled: Math.floor(n / 7) % 2 === 0,
    at: new Date(Date.UTC(2026, 0, 1, 0, 0, n)),
  }))
  const isOfFlow = ({ isScheduled }: { isScheduled: boolean }, n: number) => n % (isScheduled ? 2 : 5) === 0
  for (const [n, one] of made.entries()) {
    const sendAt = one.isScheduled ? inSeconds(3600) : null
    await service.runtime.db.$client.query(
      `insert into ${one.isScheduled ? 'scheduled_sends' : 'sends'} (request_id, account_id, channel_id, contact_type, contact_value, message_type, message,
                             close_conversation, flow_id, accepted_at, send_at)
       values ($1, $2, $3, 'phone', '+4915112345678', 'text', '{}', false, $4, $5, $6)`,
      [one.id, accountId, channelId, isOfFlow(one, n) ? flowId : null, one.at, sendAt],
    )
  }
  return made.flatMap((one, n) => (isOfFlow(one, n) ? [one.id] : [])).reverse()
}

test('a page ends where one of the tables was left, even if the other has more, so that no send is skipped', async () => {
  const account = await buildAccount(service)
  const { db } = service.runtime
  const ofFlow = await mixSends(account)
  for (const limit of [1, 2, 3, 5]) {
    for (const lookedAt of [1, 2, 3, 5, 8]) {
      const found: string[] = []
      let after: ListCursor | undefined
      do {
        const query = { limit, flowId: account.flowId, after }
        const page = await listSends(db, account.accountId, query, lookedAt)
        found.push(...page.sends.map(({ requestId }) => requestId))
        after = page.next
      } while (after)
      expect(found, `limit ${limit}, looked at ${lookedAt}`).toEqual(ofFlow)
    }
  }
})

test('while pages wait for PostgreSQL, accepts go on', async () => {
  const [account, other] = [await buildAccount(service), await buildAccount(service)]
  const blocker = await service.runtime.db.$client.connect()
  await blocker.query('begin; lock table scheduled_sends in access exclusive mode')
  const pages = Array.from({ length: 30 }, () => list(service, account))
  await sleep(200)
  const accepted = await timed(() => post(service, other, textBody()))
  await blocker.query('rollback')
  blocker.release()
  unlessStoodStill(accepted, () => expect(accepted.status).toBe(202))
  const statuses = (await Promise.all(pages)).map(({ status }) => status)
  expect(statuses.filter((status) => status !== 200 && status !== 503)).toEqual([])
})
