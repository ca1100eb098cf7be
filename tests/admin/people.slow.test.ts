import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { removePerson } from '../../db/people/people.ts'
import { startTestAdmin, type TestAdmin } from '../support/admin.ts'
import { expectOnlyOurMarkup } from '../support/pages.ts'
import { ask, buildPerson, password, signIn } from '../support/people.ts'
import { startTestService, type TestService } from '../support/service.ts'

let service: TestService
let admin: TestAdmin
/** The same, behind a proxy at 127.0.0.9. */
let proxied: TestAdmin
const adminPassword = 'a password of tests'
const basic = { Authorization: `Basic ${btoa(`admin:${adminPassword}`)}` }

beforeAll(async () => {
  service = await startTestService()
  const settings = { ADMIN_PASSWORD: adminPassword }
  admin = await startTestAdmin(service, settings)
  proxied = await startTestAdmin(service, {
    ...settings,
    TRUST_PROXY: '127.0.0.9/32',
    ADMIN_USER_HEADER: 'X-Forwarded-User',
    ADMIN_ROLE_HEADER: 'X-Forwarded-Role',
  })
  await buildPerson(service, 'Ann', 'support')
  await buildPerson(service, 'Oz', 'operator')
})
afterAll(async () => {
  await admin.stop()
  await proxied.stop()
  await service.stop()
})

describe('without signing in', () => {
  test.each(['/support', '/inbox', '/queues', '/people', '/', '/no-such-page', '/endpoints/x'])(
    '%s leads to the sign-in, and back',
    async (path) => {
      const { status, location } = await ask(admin, path)
      expect([status, location]).toEqual([303, `/login?next=${encodeURIComponent(path)}`])
    },
  )

  test('a form is refused in words, and changes nothing', async () => {
    const { status, text } = await ask(admin, '/support/find', { form: { requestId: 'x' } })
    expect(status).toBe(401)
    expect(text).toContain('Open /login, sign in, and send the form again.')
  })

  test('ADMIN_PASSWORD opens no page any more, and still /metrics, for Prometheus', async () => {
    expect((await ask(admin, '/support', { headers: basic })).status).toBe(303)
    expect((await ask(admin, '/metrics')).status).toBe(401)
    expect((await ask(admin, '/metrics', { headers: await signIn(admin, 'Oz') })).status).toBe(401)
    expect((await ask(admin, '/metrics', { headers: basic })).status).toBe(200)
  })

  test('the page of the sign-in has its styles, and nothing of the other pages', async () => {
    const { status, html } = await ask(admin, '/login?next=/support')
    expect(status).toBe(200)
    for (const [, link = ''] of html.matchAll(/<link [^>]*href="([^"]+)"/g))
      expect((await ask(admin, link)).status, link).toBe(200)
    expect(html).not.toContain('<nav')
    expect((await ask(admin, '/healthz')).status).toBe(200)
  })

  test('a link on another site leads to its page by way of the sign-in, where the cookie comes again', async () => {
    const headers = { 'Sec-Fetch-Site': 'cross-site' }
    const { location = '' } = await ask(admin, '/support/search?state=failed', { headers })
    const { html } = await ask(admin, location, { headers })
    expect(html).toContain('<meta http-equiv="refresh" content="0; url=/support/search?state=failed"/>')
    expectOnlyOurMarkup(html.replace(/<head>.*<\/head>/s, ''))
  })
})

describe('a sign-in', () => {
  test('by name and password leads on, with a cookie for 12 hours that scripts and other sites do not get', async () => {
    const form = { name: ' ann ', password, next: '/support/search?state=failed' }
    const { status, location, cookie = '' } = await ask(admin, '/login', { form })
    expect([status, location]).toEqual([303, '/support/search?state=failed'])
    expect(cookie).toMatch(/^outbound_session=[\w-]{43}; Max-Age=43200; Path=\/; HttpOnly; SameSite=Strict$/)
    const page = await ask(admin, '/support', { headers: { Cookie: cookie.split(';')[0] ?? '' } })
    expect(page.status).toBe(200)
    expect(page.text).toContain('Ann support Sign out')
  })

  test('stores only a hash of its token, and logs neither it nor the password', async () => {
    const { Cookie } = await signIn(admin, 'Ann')
    const token = Cookie.split('=')[1] ?? ''
    const { rows } = await service.runtime.db.$client.query(
      "select encode(token_hash, 'escape') || encode(token_hash, 'hex') || p::text as text from person_sessions s, people p",
    )
    expect(rows.length).toBeGreaterThan(0)
    expect(JSON.stringify(rows)).not.toContain(token)
    expect(JSON.stringify(rows)).not.toContain('horse')
    expect(JSON.stringify(service.logs)).not.toContain(token)
    expect(JSON.stringify(service.logs)).not.toContain('horse')
    expect(service.logs.filter(({ event }) => event === 'signed_in')).not.toEqual([])
  })

  test('over TLS, as a trusted proxy says, has a cookie that only https and this host can set; else a plain one', async () => {
    const form = { name: 'Ann', password }
    const cookieFrom = async (from: string, headers: Record<string, string>) =>
      (await ask(proxied, '/login', { form, from, headers: { 'Sec-Fetch-Site': 'same-origin', ...headers } }))
        .cookie
    const host =
      /^__Host-outbound_session=[\w-]{43}; Max-Age=43200; Path=\/; HttpOnly; Secure; SameSite=Strict$/
    const overTls = { 'X-Forwarded-Proto': 'https' }
    expect(await cookieFrom('127.0.0.9', overTls)).toMatch(host)
    expect(await cookieFrom('127.0.0.9', { Forwarded: 'for=192.0.2.1;Proto=https' })).toMatch(host)
    for (const plain of [
      await cookieFrom('127.0.0.9', { 'X-Forwarded-Proto': 'http' }),
      await cookieFrom('127.0.0.8', overTls),
    ]) {
      expect(plain).toMatch(/^outbound_session=/)
      expect(plain).not.toContain('Secure')
    }
  })

  test('over TLS signs in by that cookie alone, and the sign-out removes it', async () => {
    const tls = { 'X-Forwarded-Proto': 'https', 'Sec-Fetch-Site': 'same-origin' }
    const from = '127.0.0.9'
    const { Cookie } = await signIn(proxied, 'Ann', { headers: tls, from })
    expect((await ask(proxied, '/support', { headers: { ...tls, Cookie }, from })).status).toBe(200)
    const plainName = Cookie.replace('__Host-', '')
    expect((await ask(proxied, '/support', { headers: { ...tls, Cookie: plainName }, from })).status).toBe(
      303,
    )
    const out = await ask(proxied, '/logout', { form: {}, headers: { ...tls, Cookie }, from })
    expect(out.cookie).toMatch(/^__Host-outbound_session=; Max-Age=0; Path=\/; HttpOnly; Secure/)
    expect((await ask(proxied, '/support', { headers: { ...tls, Cookie }, from })).status).toBe(303)
  })

  test.each([
    '//evil.example',
    'https://evil.example/',
    '/\\evil.example',
    '/\t/evil.example',
    '/.//evil.example',
    '\\\\evil.example',
    'javascript:alert(1)',
    'evil.example',
    '/login?next=/login',
    '/logout',
    '/%5C%5C/..//evil.example',
    '',
  ])('leads to no other host, nor in circles: %j', async (next) => {
    const { location } = await ask(admin, '/login', { form: { name: 'Ann', password, next } })
    expect(location).toBe('/')
    const { html } = await ask(admin, `/login?${new URLSearchParams({ next })}`)
    expect(html).toContain('name="next" value="/"')
  })

  test.each([
    ['a wrong password', { name: 'Ann', password: `${password}.` }],
    ['an unknown name', { name: 'Nobody', password }],
    ['no password', { name: 'Ann', password: '' }],
    ['no field', {}],
    ['markup', { name: '"><script>alert(1)</script>', password: 'x' }],
    ['NUL', { name: 'Ann\0', password }],
  ])('with %s is refused with the same words, and without a cookie', async (_what, form) => {
    const from = '127.0.1.1'
    const { status, text, html, cookie } = await ask(admin, '/login', {
      form: form as Record<string, string>,
      from,
    })
    expect([status, cookie]).toEqual([401, undefined])
    expect(text).toContain('This name and password do not belong together.')
    expectOnlyOurMarkup(html)
  })

  test('that another site sends is refused', async () => {
    const headers = { Origin: 'https://evil.example' }
    const { status, cookie } = await ask(admin, '/login', { form: { name: 'Ann', password }, headers })
    expect([status, cookie]).toEqual([403, undefined])
  })

  test('with a form that is too long is refused', async () => {
    const { status } = await ask(admin, '/login', { form: { name: 'Ann', password: 'x'.repeat(17_000) } })
    expect(status).toBe(413)
  })
})

describe('a session', () => {
  test('ends with the sign-out, in that browser alone', async () => {
    const one = await signIn(admin, 'Ann')
    const other = await signIn(admin, 'Ann')
    const out = await ask(admin, '/logout', { form: {}, headers: one })
    expect([out.status, out.location]).toEqual([303, '/login'])
    expect(out.cookie).toMatch(/^outbound_session=; Max-Age=0/)
    expect((await ask(admin, '/support', { headers: one })).status).toBe(303)
    expect((await ask(admin, '/support', { headers: other })).status).toBe(200)
  })

  test('is not ended by a page of another site, nor by a link', async () => {
    const headers = await signIn(admin, 'Ann')
    const foreign = await ask(admin, '/logout', {
      form: {},
      headers: { ...headers, Origin: 'https://evil.example' },
    })
    expect(foreign.status).toBe(403)
    expect((await ask(admin, '/logout', { headers })).status).toBe(404)
    expect((await ask(admin, '/support', { headers })).status).toBe(200)
  })

  test('ends with its person, at once and in each admin process', async () => {
    await buildPerson(service, 'Eve', 'operator')
    const headers = await signIn(admin, 'Eve')
    expect((await ask(proxied, '/people', { headers })).status).toBe(200)
    await removePerson(service.runtime.db, 'Eve')
    for (const one of [admin, proxied]) expect((await ask(one, '/support', { headers })).status).toBe(303)
  })

  test.each(['outbound_session=', 'outbound_session=guess', 'outbound_session=%00', 'other=1'])(
    'is not the cookie %s',
    async (Cookie) => {
      expect((await ask(admin, '/support', { headers: { Cookie } })).status).toBe(303)
    },
  )
})

describe("a proxy's word", () => {
  const as = (user: string | string[], role?: string | string[]) => ({
    'X-Forwarded-User': user,
    ...(role !== undefined && { 'X-Forwarded-Role': role }),
  })
  const through = (headers: Record<string, string | string[]>, from = '127.0.0.9', path = '/support') =>
    ask(proxied, path, { headers, from })

  test('is believed from TRUST_PROXY', async () => {
    const { status, text } = await through(as('bob@example.com', 'operator'))
    expect(status).toBe(200)
    expect(text).toContain('bob@example.com operator')
    expect(text).not.toContain('Sign out')
    expect((await through(as('bob', 'support'), undefined, '/people')).status).toBe(403)
    expect((await through(as(Buffer.from('Zoé').toString('latin1'), 'support'))).text).toContain(
      'Zoé support',
    )
  })

  test('is ignored from any other address, whatever X-Forwarded-For says', async () => {
    const headers = { ...as('bob', 'operator'), 'X-Forwarded-For': '127.0.0.9' }
    expect((await through(headers, '127.0.0.8')).status).toBe(303)
    expect((await ask(admin, '/support', { headers, from: '127.0.0.9' })).status).toBe(303)
  })

  test.each([
    ['another role', as('bob', 'root'), 'is “root”. It has to be reader, support or operator.'],
    ['a role in capitals', as('bob', 'Operator'), 'It has to be reader, support or operator.'],
    ['no role', as('bob'), 'x-forwarded-role is missing. It has to be reader, support or operator.'],
    ['two roles', as('bob', ['operator', 'support']), 'x-forwarded-role came twice.'],
    ['two names', as(['bob', 'carl'], 'operator'), 'x-forwarded-user came twice.'],
    ['a name that is too long', as('x'.repeat(65), 'support'), 'has to be a name of 1 to 64 characters'],
    ['markup as a role', as('bob', '<script>alert(1)</script>'), 'It has to be reader, support or operator.'],
  ])('with %s is refused in words', async (_what, headers, words) => {
    const { status, text, html } = await through(headers)
    expect(status).toBe(403)
    expect(text).toContain(words)
    expectOnlyOurMarkup(html)
  })

  test('where it names nobody, people sign in by themselves', async () => {
    expect((await through({ 'X-Forwarded-Role': 'operator' })).status).toBe(303)
    expect((await through({ 'X-Forwarded-User': '', 'X-Forwarded-Role': 'operator' })).status).toBe(303)
    expect((await through(await signIn(proxied, 'Ann', { from: '127.0.0.9' }))).status).toBe(200)
  })
})

test('a hostile name is shown as text', async () => {
  const name = `x'"><script>alert(1)</script><img src=x>`
  await buildPerson(service, name, 'operator')
  const own = await ask(admin, '/people', { headers: await signIn(admin, name) })
  const named = { 'X-Forwarded-User': name, 'X-Forwarded-Role': 'operator' }
  for (const { html, text } of [own, await ask(proxied, '/people', { headers: named, from: '127.0.0.9' })]) {
    expect(text).toContain(`${name} operator`)
    expectOnlyOurMarkup(html)
  }
  await removePerson(service.runtime.db, name)
})

test('the page of people shows role and last sign-in, to operators alone', async () => {
  const headers = await signIn(admin, 'Oz')
  const { text, html } = await ask(admin, '/people', { headers })
  expect(text).toMatch(/Oz operator \d{4}-\d\d-\d\d [\d:]+ \d{4}-\d\d-\d\d [\d:]+ in \d+ browsers?/)
  expectOnlyOurMarkup(html)
  const support = await ask(admin, '/support', { headers: await signIn(admin, 'Ann') })
  expect(support.html).not.toMatch(/href="\/(people|queues)"/)
})
