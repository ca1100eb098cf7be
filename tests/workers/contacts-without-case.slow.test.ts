import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'drizzle-orm'
import { v7 as uuidv7 } from 'uuid'
import { expect, onTestFinished, test } from 'vitest'
import { listConversations } from '../../db/delivery/conversations.ts'
import { recordReceipts } from '../../db/receipts/receipts.ts'
import { listSuppressions } from '../../db/suppression/entries.ts'
import { erasedContactValue } from '../../src/core/contacts/contact.ts'
import { causes } from '../../src/core/suppression/suppression.ts'
import { attemptedSend, beginAttempt, received, rowOf, timelineOf } from '../support/attempts.ts'
import { type Account, accept, buildAccount, request, textBody } from '../support/builders.ts'
import { runCli } from '../support/cli.ts'
import { inSeconds, listAll } from '../support/later.ts'
import { loseWakeUp } from '../support/queue.ts'
import { buildReceipt } from '../support/receipts.ts'
import { finishedTimeline, serviceOfFile } from '../support/service.ts'

const service = await serviceOfFile()
const { db } = service.runtime

/** One person, in four spellings. */
function spellings(): [string, string, string, string] {
  const id = uuidv7()
  return [
    `Case.Two-${id}@example.com`,
    `case.two-${id}@example.com`,
    `CASE.TWO-${id}@EXAMPLE.COM`,
    `cAsE.two-${id}@Example.com`,
  ]
}

const buildManager = () =>
  buildAccount(service, { permissions: ['messages:send', 'messages:read', 'suppressions:manage'] })

const to = (value: string) => textBody('Hello', value)

async function cli(...args: string[]) {
  const { status, stdout, stderr } = await runCli(service, ...args)
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  return JSON.parse(stdout)
}

const suppressions = ({ apiKey }: Account, method: string, query = '', body?: object) =>
  request(service, `/v1/suppressions${query}`, {
    method,
    headers: { Authorization: `Bearer ${apiKey}`, ...(body && { 'Content-Type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
  })

async function importFile({ accountId }: Account, value: string) {
  const folder = await mkdtemp(join(tmpdir(), 'contacts-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  await writeFile(join(folder, 'list.csv'), `contact,channelId,reason\n${value},,\n`)
  return await cli('suppression', 'import', '--account', accountId, '--file', join(folder, 'list.csv'))
}

async function bounced(by: Account, value: string) {
  const requestId = await attemptedSend(service, by, { outcome: 'sent' }, to(value))
  return { ...buildReceipt(requestId, by.channelId, 'undelivered'), suppresses: 'bounce' } as const
}

const bounce = async (by: Account, value: string) => recordReceipts(db, [await bounced(by, value)])

/** Before either bounces. */
const bothSent = async (by: Account, one: string, other: string) => [
  await bounced(by, one),
  await bounced(by, other),
]

const entriesOf = ({ accountId }: Account) => listSuppressions(db, accountId, { limit: 100 })

const ways: [string, (by: Account, value: string) => Promise<unknown>, keyof typeof causes][] = [
  ['route', (by, value) => suppressions(by, 'POST', '', { contact: { value } }), 'manual'],
  [
    'command',
    ({ accountId }, value) => cli('suppression', 'add', '--account', accountId, '--contact', value),
    'manual',
  ],
  ['import', importFile, 'manual'],
  ['bounce', bounce, 'bounce'],
]

async function expectSuppressed(by: Account, value: string, cause: keyof typeof causes) {
  const timeline = await finishedTimeline(service, await accept(service, by, to(value)), by.apiKey)
  expect(timeline).toMatchObject({ status: 'failed', attempts: 0 })
  expect(timeline.events.at(-1)?.reason).toBe(causes[cause].storedReason)
}

test.each(ways)(
  'a contact suppressed by %s in one spelling gets nothing in any',
  async (_by, suppress, cause) => {
    const account = await buildManager()
    const [written, ...others] = spellings()
    await suppress(account, written)
    expect(await entriesOf(account)).toMatchObject([{ contactValue: expect.stringContaining('Case.Two-') }])
    const worker = await service.startWorker()
    for (const value of [written, ...others]) await expectSuppressed(account, value, cause)
    await worker.stop()
  },
)

test.each(ways)(
  'a contact that is suppressed is not added by %s in another spelling',
  async (_by, suppress) => {
    const account = await buildManager()
    const [written, lower] = spellings()
    if (suppress === bounce)
      for (const receipt of await bothSent(account, written, lower)) await recordReceipts(db, [receipt])
    else for (const value of [written, lower]) await suppress(account, value)
    expect(await entriesOf(account)).toHaveLength(1)
  },
)

test('an import adds a contact in two spellings once', async () => {
  const account = await buildManager()
  const [written, lower] = spellings()
  expect(await importFile(account, `${lower},,\n${written}`)).toEqual({ imported: 1, alreadyThere: 1 })
})

test('a removal in another spelling removes, by route and by command', async () => {
  const account = await buildManager()
  const [written, lower, upper] = spellings()
  const add = () => suppressions(account, 'POST', '', { contact: { value: written } })
  await add()
  const query = new URLSearchParams({ contact: upper })
  expect((await suppressions(account, 'GET', `?${query}`)).body.suppressions).toHaveLength(1)
  await cli('suppression', 'remove', '--account', account.accountId, '--contact', lower)
  expect(await entriesOf(account)).toEqual([])
  const { suppressionId } = (await add()).body
  expect((await suppressions(account, 'DELETE', `/${suppressionId}`)).status).toBe(204)
  const worker = await service.startWorker()
  const sent = await finishedTimeline(service, await accept(service, account, to(lower)), account.apiKey)
  expect(sent.status).toBe('sent')
  await worker.stop()
})

test('an entry fails sends that waited and scheduled sends of all spellings', async () => {
  const account = await buildManager()
  const [written, lower, upper] = spellings()
  const ids = await Promise.all(
    [written, lower].map((value) => accept(service, account, { ...to(value), sendAt: inSeconds(3600) })),
  )
  await suppressions(account, 'POST', '', { contact: { value: upper } })
  const worker = await service.startWorker()
  for (const requestId of ids)
    expect((await finishedTimeline(service, requestId, account.apiKey)).status).toBe('failed')
  await worker.stop()
})

test('erasing a contact in one spelling erases its sends, conversations and entries of all; the entries hold on', async () => {
  const account = await buildManager()
  const [written, lower, upper, mixed] = spellings()
  const ids: string[] = []
  for (const value of [written, lower])
    ids.push(await attemptedSend(service, account, { outcome: 'sent' }, to(value)))
  await accept(service, account, { ...to(upper), sendAt: inSeconds(3600) })
  await suppressions(account, 'POST', '', { contact: { value: written } })
  const erased = await cli('contact', 'erase', '--account', account.accountId, '--contact', mixed)
  expect(erased).toMatchObject({ erased: 2, unfinished: 1 })

  for (const requestId of ids)
    expect(await rowOf(service, requestId)).toMatchObject({ contactValue: erasedContactValue })
  const { rows } = await db.execute<{ contact_value: string }>(
    sql`select contact_value from conversations where account_id = ${account.accountId}`,
  )
  expect(rows).toEqual([{ contact_value: erasedContactValue }])
  expect(await entriesOf(account)).toMatchObject([{ contactValue: null }])

  const worker = await service.startWorker()
  for (const value of [written, lower, upper, mixed]) await expectSuppressed(account, value, 'manual')
  await worker.stop()
  await suppressions(account, 'POST', '', { contact: { value: upper } })
  expect(await entriesOf(account)).toHaveLength(1)
  await cli('suppression', 'remove', '--account', account.accountId, '--contact', lower)
  expect(await entriesOf(account)).toEqual([])
})

test('a contact erased in a spelling with capitals is suppressed again and erased again without a second entry', async () => {
  const account = await buildManager()
  const [written, lower] = spellings()
  await suppressions(account, 'POST', '', { contact: { value: lower } })
  for (const value of [written, lower])
    await cli('contact', 'erase', '--account', account.accountId, '--contact', value)
  await suppressions(account, 'POST', '', { contact: { value: written } })
  expect(await entriesOf(account)).toMatchObject([{ contactValue: null }])
})

test('a list by contact finds the sends of all spellings, also those of a later time', async () => {
  const account = await buildManager()
  const [written, lower, upper] = spellings()
  const ids = [await accept(service, account, to(written)), await accept(service, account, to(lower))]
  const later = await accept(service, account, { ...to(written), sendAt: inSeconds(3600) })
  await accept(service, account, textBody())
  for (const contact of [written, lower, upper])
    expect((await listAll(service, account, { contact })).toSorted()).toEqual([...ids, later].toSorted())
})

test('a send waits for the one before it to its contact in another spelling', async () => {
  const account = await buildManager()
  const [written, lower] = spellings()
  const first = await accept(service, account, to(written))
  const second = await accept(service, account, to(lower))
  for (const requestId of [first, second]) await loseWakeUp(service, requestId)
  expect((await rowOf(service, second)).behind).toBe(first)
  await expect(beginAttempt(service, second, 'early')).rejects.toThrow('could not claim')
  await beginAttempt(service, first, 'first')
})

test('a contact has one conversation in all spellings, found and closed in any; each is shown and sent to as written', async () => {
  const account = await buildManager()
  const [written, lower, upper] = spellings()
  const worker = await service.startWorker()
  const sent = []
  for (const value of [written, lower]) {
    const timeline = await finishedTimeline(
      service,
      await accept(service, account, to(value)),
      account.apiKey,
    )
    expect(timeline.contact.value).toBe(value)
    expect(await received(service, timeline.requestId)).toMatchObject([{ contactValue: value }])
    sent.push(timeline)
  }
  expect(sent[1]?.conversationId).toBe(sent[0]?.conversationId)
  const closing = await accept(service, account, { ...to(upper), closeConversation: true })
  const closed = await finishedTimeline(service, closing, account.apiKey)
  await worker.stop()
  const found = await listConversations(db, account.accountId, { type: 'email', value: written })
  expect(found).toMatchObject([
    { conversationId: sent[0]?.conversationId, closedBy: closing },
    { conversationId: closed.conversationId, closedAt: null },
  ])
})

test('of the conversations that the previous release opened in two spellings, the newest is joined and the other closed', async () => {
  const account = await buildManager()
  const [written, lower, upper] = spellings()
  const [older, newer] = [uuidv7(), uuidv7()]
  await db.execute(sql`
    insert into conversations (id, account_id, contact_type, contact_value)
    values (${older}, ${account.accountId}, 'email', ${lower}), (${newer}, ${account.accountId}, 'email', ${written})`)
  const requestId = await attemptedSend(service, account, { outcome: 'sent' }, to(upper))
  expect((await timelineOf(service, requestId)).conversationId).toBe(newer)
  const found = await listConversations(db, account.accountId, { type: 'email', value: lower })
  expect(found.filter(({ closedAt }) => closedAt === null).map((one) => one.conversationId)).toEqual([newer])
})
