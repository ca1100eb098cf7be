import { eq } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { sends } from '../../db/schema.ts'
import { listSends } from '../../db/support/list.ts'
import type { ListCursor } from '../../src/core/list-query.ts'
import { timelineOf } from '../support/attempts.ts'
import { acceptBatch, manyOf } from '../support/batches.ts'
import {
  type Account,
  accept,
  buildAccount,
  buildChannel,
  buildKey,
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
import { startTestService, type TestService } from '../support/service.ts'

let service: TestService

beforeAll(async () => {
  service = await startTestService()
})
afterAll(() => service.stop())

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
  const matching = { contact: '0049 151 99999999', reference: 'r', channelId: other, flowId: account.flowId }
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
    ['flowId', '01a1fde3-04b0-709e-bec0-b940cc7af3c0'],
    ['contact', '+4915100000000'],
  ] as const)
    expect(await of({ [name]: value }), name).toEqual([])
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
