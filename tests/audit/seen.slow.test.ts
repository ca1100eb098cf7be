import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { createAccount } from '../../db/accounts/accounts.ts'
import { sends } from '../../db/schema.ts'
import { addSuppression } from '../../db/suppression/entries.ts'
import { createRecordRefusedSignIn } from '../../src/admin/people/sign-in-audit.ts'
import { startTestAdmin, type TestAdmin } from '../support/admin.ts'
import { buildSendRow } from '../support/attempts.ts'
import {
  type Account,
  accept,
  buildAccount,
  buildChannel,
  newContact,
  textBody,
} from '../support/builders.ts'
import { runCli } from '../support/cli.ts'
import { ask, buildPerson, password, signIn } from '../support/people.ts'
import {
  finishedTimeline,
  startTestService,
  type TestService,
  testSecrets,
  testSuppressionKey,
} from '../support/service.ts'
import { eventually } from '../support/wait.ts'

let service: TestService
let admin: TestAdmin
let account: Account
let operator: { Cookie: string }
let support: { Cookie: string }

beforeAll(async () => {
  service = await startTestService()
  admin = await startTestAdmin(service)
  account = await buildAccount(service)
  await buildPerson(service, 'Ann', 'support')
  await buildPerson(service, 'Oz', 'operator')
  operator = await signIn(admin, 'Oz')
  support = await signIn(admin, 'Ann')
})
beforeEach(() => service.runtime.db.execute(sql`delete from audit`))
afterAll(async () => {
  await admin.stop()
  await service.stop()
})

const suppress = async (value: string) =>
  (
    await addSuppression(
      service.runtime.db,
      { accountId: account.accountId, contact: { type: 'phone', value }, channelId: null },
      null,
      testSuppressionKey,
    )
  ).entry

async function rows() {
  const { rows } = await service.runtime.db.$client.query(
    'select by, via, address, action, target, details from audit order by at, id',
  )
  return rows
}

test('sign-ins, sign-outs and refused sign-ins are rows, and what was typed as an unknown name is in none', async () => {
  const session = await signIn(admin, 'ann')
  await ask(admin, '/login', { form: { name: 'Ann', password: 'wrong' } })
  await ask(admin, '/login', { form: { name: 'my-secret', password } })
  await ask(admin, '/logout', { form: {}, headers: session })
  const at = { via: 'page', address: '127.0.0.1' }
  const wrong = { ...at, action: 'person.sign_in_refused', details: { reason: 'wrong' } }
  expect(await rows()).toEqual([
    { ...at, by: 'Ann', action: 'person.sign_in', target: 'Ann', details: {} },
    { ...wrong, by: 'Ann', target: 'Ann' },
    { ...wrong, by: 'unknown', target: 'unknown' },
    { ...at, by: 'Ann', action: 'person.sign_out', target: 'Ann', details: {} },
  ])
})

test('a flood of refused sign-ins leaves few rows', async () => {
  const record = createRecordRefusedSignIn(service.runtime)
  for (let n = 0; n < 45; n++) await record({ name: undefined, address: `198.51.${n}.1`, reason: 'wrong' })
  expect(await rows()).toHaveLength(30)
})

test('the next row of a refused sign-in counts those before it that left none', async () => {
  vi.useFakeTimers({ toFake: ['performance'] })
  try {
    const record = createRecordRefusedSignIn(service.runtime)
    const refused = { name: 'Ann', address: '198.51.100.1', reason: 'wrong' }
    let calls = 0
    for (; calls < 7; calls++) await record(refused)
    expect(await rows()).toMatchObject([{ by: 'Ann', details: { reason: 'wrong' } }])
    vi.advanceTimersByTime(60_001)
    const [first, next] = await eventually('the second row', async () => {
      calls++
      await record(refused)
      const found = await rows()
      return found.length === 2 && found
    })
    expect(first.details).toEqual({ reason: 'wrong' })
    expect(next.details).toEqual({ reason: 'wrong', leftOutBefore: calls - 2 })
  } finally {
    vi.useRealTimers()
  }
})

test('downloads are rows, with their filters and whether contacts were whole', async () => {
  const { accountId } = account
  await ask(admin, `/sends.csv?accountId=${accountId}&status=failed`, { headers: support })
  await ask(admin, `/suppressions.csv?accountId=${accountId}`, { headers: operator })
  await ask(admin, '/sends.csv?status=nonsense', { headers: operator })
  expect(await rows()).toEqual([
    expect.objectContaining({
      by: 'Ann',
      action: 'sends.download',
      target: accountId,
      details: { status: 'failed', contacts: 'masked' },
    }),
    expect.objectContaining({
      by: 'Oz',
      action: 'suppression.export',
      target: accountId,
      details: { contacts: 'whole' },
    }),
  ])
})

test('who sees contacts whole is a row, once while the page reloads; masked ones leave none', async () => {
  const contact = newContact()
  const requestId = await accept(service, account, textBody('Hello', contact))
  for (const headers of [support, operator, operator]) {
    await ask(admin, `/support/${requestId}`, { headers })
    await ask(admin, `/contact?requestId=${requestId}`, { headers })
    await ask(admin, '/channels', { headers })
  }
  await ask(admin, '/contact', { form: { accountId: account.accountId, contact }, headers: operator })
  const found = await rows()
  expect(found.map(({ by, action, target, details }) => [by, action, target, details])).toEqual([
    ['Oz', 'contacts.view', `/support/${requestId}`, {}],
    ['Oz', 'contacts.view', '/contact', { requestId }],
    ['Oz', 'contacts.view', '/contact', { requestId }],
  ])
  expect(JSON.stringify(found)).not.toContain(contact)
})

const seen = async () =>
  (await rows()).flatMap(({ action, ...row }) => (action === 'contacts.view' ? [row] : []))

test('while the audit takes no rows, a page with whole contacts says so, and one with masked ones opens', async () => {
  const { db } = service.runtime
  await db.$client.query(`
    create function refuse_write() returns trigger language plpgsql as $$
    begin raise exception using errcode = '25006', message = 'cannot execute INSERT in a read-only transaction'; end $$;
    create trigger refuse_write before insert on audit for each row execute function refuse_write()`)
  onTestFinished(async () => {
    await db.$client.query('drop function refuse_write cascade')
  })
  const refused = await ask(admin, '/sends', { headers: operator })
  expect(refused.status).toBe(503)
  expect(refused.text).toContain('sees whole contacts is recorded in the audit first')
  expect(refused.text).toContain('PostgreSQL takes no writes')
  expect((await ask(admin, '/sends', { headers: support })).status).toBe(200)
})

test('of whom a look-up showed is said by ids alone: a send, a suppression or its conversation', async () => {
  const { accountId } = account
  const [sentTo, suppressed, unknown] = [newContact(), newContact(), newContact()]
  await service.startWorker()
  const requestId = await accept(service, account, textBody('Hello', sentTo))
  const { conversationId } = await finishedTimeline(service, requestId, account.apiKey)
  await service.stopWorkers()
  const { suppressionId } = await suppress(suppressed)
  for (const contact of [sentTo, suppressed, unknown])
    await ask(admin, '/contact', { form: { accountId, contact }, headers: operator })
  await ask(admin, `/support/${requestId}`, { headers: operator })
  const found = await seen()
  expect(found.map(({ target, details }) => [target, details])).toEqual([
    ['/contact', { requestId, conversationId }],
    ['/contact', { suppressionId }],
    ['/contact', {}],
    [`/support/${requestId}`, { conversationId }],
  ])
  for (const contact of [sentTo, suppressed, unknown]) expect(JSON.stringify(found)).not.toContain(contact)
})

test('a look-up in the box that several accounts answer says of whom it was', async () => {
  const contact = newContact()
  await accept(service, account, textBody('Hello', contact))
  const other = await buildAccount(service)
  const ofOther = await accept(service, other, textBody('Hello', contact))
  await ask(admin, '/support', { form: { q: contact }, headers: operator })
  const [row] = await seen()
  expect([row.target, Object.keys(row.details)]).toEqual(['/support', ['requestId']])
  await ask(admin, `/contact?requestId=${ofOther}`, { headers: operator })
  expect((await seen())[1].details).toEqual({ requestId: ofOther })
})

test('a list says whose it was, also where its account or channel is given by a name', async () => {
  const { db } = service.runtime
  const accountId = await createAccount(db, 'Seen by its name')
  const other = await createAccount(db, 'Also seen')
  const channelId = await buildChannel(service, accountId)
  const contact = newContact()
  const requestId = await accept(service, account, textBody('Hello', contact))
  await ask(admin, '/sends?accountId=Seen+by+its+name', { headers: operator })
  await ask(admin, '/suppressions?accountId=Seen+by+its+name', { headers: operator })
  await ask(admin, '/suppressions?accountId=Also+seen', { headers: operator })
  await ask(admin, `/sends?channelId=${channelId}`, { headers: operator })
  await ask(admin, '/sends', { form: { contact }, headers: operator })
  await ask(admin, `/sends.csv?channelId=${channelId}`, { headers: operator })
  expect((await rows()).map(({ target, details }) => [target, details])).toEqual([
    ['/sends', { accountId }],
    ['/suppressions', { accountId }],
    ['/suppressions', { accountId: other }],
    ['/sends', { accountId, channelId }],
    ['/sends', { requestId }],
    [accountId, { channelId, contacts: 'whole' }],
  ])
})

test('pages that ask before something is done are seen as well, when they show a whole contact', async () => {
  const [waiting, ended] = [newContact(), newContact()]
  const queued = await accept(service, account, textBody('Hello', waiting))
  const failed = buildSendRow(account, {
    status: 'failed',
    failure: 'refused',
    attempt: 1,
    finishedAt: new Date(),
    contactValue: ended,
  })
  await service.runtime.db.insert(sends).values([failed])
  const withPepper = await startTestAdmin(service, { API_KEY_PEPPER: testSecrets.API_KEY_PEPPER })
  onTestFinished(() => withPepper.stop())
  for (const [path, contact] of [
    [`/support/${queued}/cancel`, waiting],
    [`/support/${failed.requestId}/replay`, ended],
    [`/contact/erase?requestId=${queued}`, waiting],
  ] as const) {
    const page = await ask(withPepper, path, { headers: operator })
    expect([page.status, page.text]).toEqual([200, expect.stringContaining(contact)])
    const masked = await ask(withPepper, path, { headers: support })
    expect(masked.text).not.toContain(contact)
  }
  expect((await seen()).map(({ by, target, details }) => [by, target, details])).toEqual([
    ['Oz', `/support/${queued}/cancel`, { requestId: queued }],
    ['Oz', `/support/${failed.requestId}/replay`, { requestId: failed.requestId }],
    ['Oz', '/contact/erase', { requestId: queued }],
  ])
})

test('the page of a contact says who saw or changed it, and not who saw another one', async () => {
  const { accountId } = account
  const contact = newContact()
  await service.startWorker()
  const requestId = await accept(service, account, textBody('Hello', contact))
  await finishedTimeline(service, requestId, account.apiKey)
  const other = await accept(service, account, textBody('Hello', newContact()))
  await finishedTimeline(service, other, account.apiKey)
  await service.stopWorkers()
  await buildPerson(service, 'Una', 'operator')
  const una = await signIn(admin, 'Una')
  await ask(admin, `/support/${requestId}`, { headers: una })
  await ask(admin, `/support/${other}`, { headers: operator })
  const page = async () => (await ask(admin, `/contact?requestId=${requestId}`, { headers: support })).text
  const history = async () => (await page()).split('Who saw or changed it')[1] ?? ''
  expect(await history()).toMatch(/Una page at 127\.0\.0\.1 saw whole contacts on a page/)
  expect(await history()).not.toContain('Oz')
  await ask(admin, '/contact', { form: { accountId, contact }, headers: operator })
  expect(await history()).toMatch(/Oz page at 127\.0\.0\.1 saw whole contacts on a page/)
  await ask(admin, '/contact/suppress', { form: { requestId, reason: '' }, headers: operator })
  expect(await history()).toContain('suppressed a contact')
  const { suppressionId } = await suppress(contact)
  await ask(admin, '/contact/unsuppress', { form: { requestId, entry: suppressionId }, headers: operator })
  expect(await history()).toContain('removed a suppression')
  await runCli(service, '--as', 'Cleo', 'suppression', 'add', '--account', accountId, '--contact', contact)
  expect(await history()).toMatch(/Cleo command at \S+ suppressed a contact/)
})

test('the page of an account shows who changed it, and all accounts have no such list', async () => {
  const { accountId } = await buildAccount(service)
  await runCli(service, '--as', 'Cleo', 'account', 'update', accountId, '--rate-limit', '5/60')
  expect((await ask(admin, `/?account=${accountId}`, { headers: support })).text).toMatch(
    /Who changed it .*Cleo command at \S+ changed an account/,
  )
  expect((await ask(admin, '/', { headers: support })).text).not.toContain('Who changed it')
})

test('a session and its row are there together or not at all', async () => {
  const { db } = service.runtime
  const sessions = async () => (await db.$client.query('select token_hash from person_sessions')).rows
  const before = await sessions()
  const session = await signIn(admin, 'Ann')
  const begun = await sessions()
  expect(begun).toHaveLength(before.length + 1)
  await db.$client.query(
    `alter table audit add constraint none check (action not like 'person.sign_%') not valid`,
  )
  onTestFinished(async () => {
    await db.$client.query('alter table audit drop constraint if exists none')
  })
  const refused = await ask(admin, '/login', { form: { name: 'Ann', password } })
  expect([refused.status, refused.cookie]).toEqual([500, undefined])
  expect((await ask(admin, '/logout', { form: {}, headers: session })).status).toBe(500)
  expect(await sessions()).toEqual(begun)
})

test('the page of a channel shows who changed it and why, and the audit its name with a link', async () => {
  const { channelId } = account
  for (const verb of ['hold', 'resume'])
    await ask(admin, `/channels/${channelId}/${verb}`, { form: { reason: `why ${verb}` }, headers: operator })
  const page = await ask(admin, `/channels/${channelId}`, { headers: support })
  expect(page.text).toMatch(/Oz page at 127\.0\.0\.1 resumed a channel why resume/)
  expect(page.text).toMatch(/Oz page at 127\.0\.0\.1 held a channel why hold/)
  const { html } = await ask(admin, '/audit', { headers: support })
  const {
    rows: [named],
  } = await service.runtime.db.$client.query('select name from channels where id = $1', [channelId])
  expect(html).toContain(`<a href="/channels/${channelId}">${named.name}</a>`)
})
