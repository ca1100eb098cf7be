import { desc, eq, sql } from 'drizzle-orm'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { findRole } from '../../db/people/people.ts'
import { listSessions } from '../../db/people/sessions.ts'
import { audit } from '../../db/schema.ts'
import { startTestAdmin, type TestAdmin } from '../support/admin.ts'
import { runCliWithSecret } from '../support/cli.ts'
import { expectOnlyOurMarkup } from '../support/pages.ts'
import { ask, buildPerson, password, signIn } from '../support/people.ts'
import { startTestService, type TestService } from '../support/service.ts'

let service: TestService
let admin: TestAdmin
let headers: { Cookie: string }

beforeAll(async () => {
  service = await startTestService()
  admin = await startTestAdmin(service)
  await buildPerson(service, 'Oz', 'operator')
  headers = await signIn(admin, 'Oz')
})
afterAll(async () => {
  await admin.stop()
  await service.stop()
})

const get = (path: string, as = headers) => ask(admin, path, { headers: as })
const post = (path: string, form: Record<string, string>, as = headers) =>
  ask(admin, path, { headers: as, form })
const pageOf = (name: string) => `/people/person?${new URLSearchParams({ name })}`
const good = 'seven plain words of nobody'

const lastChange = async (target: string) => {
  const [row] = await service.runtime.db
    .select()
    .from(audit)
    .where(eq(audit.target, target))
    .orderBy(desc(audit.at), desc(audit.id))
    .limit(1)
  return row
}

describe('a new person', () => {
  test('signs in with the role and the password that an operator gave', async () => {
    const { status } = await post('/people/new', { name: 'Ann', role: 'reader', password: good })
    expect(status).toBe(303)
    const { status: signedIn } = await ask(admin, '/login', { form: { name: 'ann', password: good } })
    expect(signedIn).toBe(303)
    const change = await service.runtime.db.select().from(audit).where(eq(audit.action, 'person.add'))
    expect(change).toMatchObject([{ by: 'Oz', via: 'page', target: 'Ann', details: { role: 'reader' } }])
    expect(JSON.stringify([change, service.logs])).not.toContain(good)
  })

  test.each([
    ['tiny-1', 'The password is too short'],
    ['password123456', 'is among those that are tried first'],
    ['Qwertyuiop123', 'is among those that are tried first'],
    ['abcdefghijkl', 'is among those that are tried first'],
    ['12121212121212', 'is among those that are tried first'],
    ['of Margarete 7 plain words', 'The password holds the name'],
    ['plain words of MARGARETE', 'The password holds the name'],
  ])('with the password %j is refused, at the field and by the command alike', async (bad, words) => {
    const { status, html, text } = await post('/people/new', {
      name: 'Margarete',
      role: 'reader',
      password: bad,
    })
    expect([status, text]).toEqual([400, expect.stringContaining(words)])
    expect(html).toContain('id="password-issue"')
    expect(html).not.toContain(bad)
    const add = ['admin-user', 'add', '--name', 'Margarete', '--role', 'reader']
    const { status: exit, stderr } = await runCliWithSecret(service, bad, ...add)
    expect([exit, stderr]).toEqual([64, expect.stringContaining(words)])
  })

  test.each([
    [{ name: 'oz' }, 'There is a person of this name already.'],
    [{ name: ' ' }, 'Use 1 to 64 characters on one line'],
    [{ role: 'root' }, 'Choose one of reader, support, operator.'],
  ])('%j is refused at the field', async (fault, words) => {
    const { status, text } = await post('/people/new', {
      name: 'New',
      role: 'reader',
      password: good,
      ...fault,
    })
    expect([status, text]).toEqual([400, expect.stringContaining(words)])
  })
})

describe('an operator', () => {
  test('changes a role, which counts for the next page; the audit has the old one and the new one', async () => {
    await buildPerson(service, 'Bob', 'reader')
    const own = await signIn(admin, 'Bob')
    expect((await get('/people', own)).status).toBe(403)
    expect((await post('/people/role', { name: 'bob', role: 'operator' })).location).toBe(pageOf('Bob'))
    expect((await get('/people', own)).status).toBe(200)
    expect(await lastChange('Bob')).toMatchObject({
      action: 'person.set_role',
      details: { role: 'operator', roleBefore: 'reader' },
    })
    expect(await findRole(service.runtime.db, 'Bob')).toBe('operator')
  })

  test('sets a forgotten password, which ends the sessions', async () => {
    await buildPerson(service, 'Cyd', 'support')
    const own = await signIn(admin, 'Cyd')
    await post('/people/password', { name: 'Cyd', password: good })
    expect((await get('/support', own)).status).toBe(303)
    expect((await ask(admin, '/login', { form: { name: 'Cyd', password: good } })).status).toBe(303)
  })

  test('ends one session of a person, or all', async () => {
    await buildPerson(service, 'Dan', 'support')
    const [one, other, third] = [
      await signIn(admin, 'Dan'),
      await signIn(admin, 'Dan'),
      await signIn(admin, 'Dan'),
    ]
    const sessions = await listSessions(service.runtime.db, 'Dan', undefined)
    expect(sessions).toHaveLength(3)
    const { html, text } = await get(pageOf('Dan'))
    expectOnlyOurMarkup(html)
    expect(text).toContain('127.0.0.1')
    await post('/people/sessions', { name: 'Dan', session: sessions[0]?.id ?? '' })
    const open = async () =>
      (await Promise.all([one, other, third].map((own) => get('/support', own)))).filter(
        ({ status }) => status === 200,
      ).length
    expect(await open()).toBe(2)
    await post('/people/sessions', { name: 'Dan', session: 'all' })
    expect(await open()).toBe(0)
    expect(await lastChange('Dan')).toMatchObject({ action: 'person.end_sessions', details: { sessions: 2 } })
  })

  test('removes a person after a question; their session ends', async () => {
    await buildPerson(service, 'Eve', 'operator')
    const own = await signIn(admin, 'Eve')
    expect((await get('/people/remove?name=Eve')).text).toContain('Remove Eve?')
    expect((await post('/people/remove', { name: 'Eve' })).location).toBe('/people')
    expect((await get('/support', own)).status).toBe(303)
    expect((await get(pageOf('Eve'))).status).toBe(404)
    expect((await post('/people/remove', { name: 'Eve' })).status).toBe(404)
  })

  test('sees a hostile name as text', async () => {
    const name = `x'"><script>alert(1)</script><img src=x>`
    await buildPerson(service, name, 'reader')
    for (const path of ['/people', pageOf(name), `/people/remove?${new URLSearchParams({ name })}`]) {
      const { html, status } = await get(path)
      expect(status).toBe(200)
      expectOnlyOurMarkup(html)
    }
  })
})

describe('a person', () => {
  test('changes the own password: this browser stays signed in, the others do not', async () => {
    await buildPerson(service, 'Fay', 'reader')
    const own = await signIn(admin, 'Fay')
    const other = await signIn(admin, 'Fay')
    expect((await post('/me/password', { present: 'a wrong one', password: good }, own)).status).toBe(400)
    const { status, cookie = '' } = await post('/me/password', { present: password, password: good }, own)
    expect(status).toBe(303)
    expect((await get('/me', { Cookie: cookie.split(';')[0] ?? '' })).status).toBe(200)
    expect((await get('/support', other)).status).toBe(303)
    expect((await ask(admin, '/login', { form: { name: 'Fay', password } })).status).toBe(401)
  })

  test('gets no password that is common', async () => {
    await buildPerson(service, 'Gus', 'reader')
    const own = await signIn(admin, 'Gus')
    const { status, text } = await post('/me/password', { present: password, password: 'letmein123456' }, own)
    expect([status, text]).toEqual([400, expect.stringContaining('tried first')])
    expect((await get('/me', own)).status).toBe(200)
  })

  test('sees the own sessions, and ends another one; nobody ends a session of somebody else by it', async () => {
    await buildPerson(service, 'Hal', 'reader')
    const own = await signIn(admin, 'Hal')
    const lost = await signIn(admin, 'Hal')
    expect((await get('/me', own)).text).toContain('this browser')
    const sessions = await listSessions(service.runtime.db, 'Hal', undefined)
    const [mine] = await listSessions(service.runtime.db, 'Oz', undefined)
    await post('/me/sessions', { session: mine?.id ?? '' }, own)
    expect((await get('/people')).status).toBe(200)
    for (const { id } of sessions) {
      const isOwn =
        (await get('/me', own)).html.indexOf(id) > (await get('/me', own)).html.indexOf('this browser')
      if (sessions.length > 1 && !isOwn) await post('/me/sessions', { session: id }, own)
    }
    await post('/me/sessions', { session: 'all' }, lost)
    expect((await get('/support', lost)).status).toBe(303)
  })

  test('guesses the own present password only as often as a sign-in allows', async () => {
    await buildPerson(service, 'Ida', 'reader')
    const own = await signIn(admin, 'Ida')
    const guess = () => post('/me/password', { present: 'a wrong one', password: good }, own)
    const said: string[] = []
    for (let n = 0; n < 11; n++) said.push((await guess()).text)
    expect(said.filter((text) => text.includes('This is not your present password.'))).toHaveLength(10)
    expect(said.at(-1)).toContain('Too many wrong passwords.')
  })
})

describe('a session', () => {
  const sessionsOf = (name: string) => listSessions(service.runtime.db, name, undefined)
  const usedAgo = (name: string, interval: string) =>
    service.runtime.db.execute(sql`
      update person_sessions s set used_at = now() - ${interval}::interval
      from people p where p.id = s.person_id and p.name = ${name}`)

  test('ends after 8 hours without use; with use it goes on', async () => {
    await buildPerson(service, 'Jo', 'reader')
    const own = await signIn(admin, 'Jo')
    await usedAgo('Jo', '7 hours 59 minutes')
    expect((await get('/support', own)).status).toBe(200)
    const [session] = await sessionsOf('Jo')
    expect(Date.now() - (session?.usedAt.getTime() ?? 0)).toBeLessThan(60_000)
    await usedAgo('Jo', '8 hours 1 minute')
    expect((await get('/support', own)).status).toBe(303)
    expect(await sessionsOf('Jo')).toEqual([])
  })
})

test('the first person is an operator: others could add nobody', async () => {
  const fresh = await startTestService()
  const open = await startTestAdmin(fresh)
  const form = { name: 'Ann', role: 'support', password: good }
  const { status, text } = await ask(open, '/people/new', { form })
  expect([status, text]).toEqual([400, expect.stringContaining('The first person has to be an operator')])
  expect((await ask(open, '/people/new', { form: { ...form, role: 'operator' } })).status).toBe(303)
  expect((await ask(open, '/people')).location).toBe('/login?next=%2Fpeople')
  await open.stop()
  await fresh.stop()
})
