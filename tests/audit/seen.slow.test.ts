import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { refusedSignInRecorder } from '../../src/admin/people/sign-in-audit.ts'
import { startTestAdmin, type TestAdmin } from '../support/admin.ts'
import { type Account, accept, buildAccount, newContact, textBody } from '../support/builders.ts'
import { ask, buildPerson, password, signIn } from '../support/people.ts'
import { startTestService, type TestService } from '../support/service.ts'
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
  const record = refusedSignInRecorder(service.runtime)
  for (let n = 0; n < 45; n++) await record({ name: undefined, address: `198.51.${n}.1`, reason: 'wrong' })
  expect(await rows()).toHaveLength(30)
})

test('the next row of a refused sign-in counts those before it that left none', async () => {
  vi.useFakeTimers({ toFake: ['performance'] })
  try {
    const record = refusedSignInRecorder(service.runtime)
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
    ['Oz', 'contacts.view', '/contact', {}],
  ])
  expect(JSON.stringify(found)).not.toContain(contact)
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
