import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestAdmin, type TestAdmin } from '../support/admin.ts'
import { ask } from '../support/people.ts'
import { startTestService, type TestService } from '../support/service.ts'

let service: TestService
/** Behind a proxy at 127.0.0.9. */
let admin: TestAdmin
const proxy = '127.0.0.9'

beforeAll(async () => {
  service = await startTestService()
  admin = await startTestAdmin(service, { TRUST_PROXY: `${proxy}/32` })
})
afterAll(async () => {
  await admin.stop()
  await service.stop()
})

/** A form, by an old browser unless the headers have Sec-Fetch-Site. A 404 is the answer of the form's page. */
const post = (headers: Record<string, string>, from = proxy) =>
  ask(admin, '/support', {
    form: { requestId: 'nothing' },
    headers: { Origin: 'https://console.localhost', ...headers },
    from,
  })
const Host = 'console.localhost'

describe('a form whose browser sends no Sec-Fetch-Site', () => {
  test.each([
    ['X-Forwarded-Proto', { Host, 'X-Forwarded-Proto': 'https' }],
    ['a list of them', { Host, 'X-Forwarded-Proto': 'HTTPS, http' }],
    ['a host with the port', { Host: `${Host}:443`, 'X-Forwarded-Proto': 'https' }],
    ['X-Forwarded-Host', { 'X-Forwarded-Host': Host, 'X-Forwarded-Proto': 'https' }],
    ['Forwarded', { Forwarded: `for=192.0.2.1;proto=https;host=${Host}` }],
    [
      'Forwarded, quoted',
      { Forwarded: `Host="${Host}:443"; proto="https";for="[2001:db8::1]:1, 2", proto=http;host=x` },
    ],
    ['Forwarded without a host', { Host, Forwarded: 'proto=https' }],
    [
      'another port',
      { Origin: 'https://console.localhost:8443', Host: `${Host}:8443`, 'X-Forwarded-Proto': 'https' },
    ],
  ])('is taken from the own https origin by the word of a trusted proxy: %s', async (_what, headers) => {
    expect((await post(headers as Record<string, string>)).status).toBe(404)
  })

  test.each([
    ['of another host', { Origin: 'https://evil.localhost', Host, 'X-Forwarded-Proto': 'https' }],
    [
      'of http, although these pages have TLS',
      { Origin: 'http://console.localhost', Host, 'X-Forwarded-Proto': 'https' },
    ],
    ['of another port', { Origin: 'https://console.localhost:1', Host, 'X-Forwarded-Proto': 'https' }],
    ['of no origin', { Origin: 'null', Host, 'X-Forwarded-Proto': 'https' }],
    ['where the proxy says http', { Host, 'X-Forwarded-Proto': 'http' }],
    ['where the host is nonsense', { Host, 'X-Forwarded-Host': 'a b', 'X-Forwarded-Proto': 'https' }],
  ])('is refused %s', async (_what, headers) => {
    expect((await post(headers as Record<string, string>)).status).toBe(403)
  })

  test('is refused by the word of anybody else, with what to set', async () => {
    for (const word of [{ 'X-Forwarded-Proto': 'https' }, { Forwarded: `proto=https;host=${Host}` }]) {
      const { status, text } = await post({ Host, ...(word as Record<string, string>) }, '127.0.0.8')
      expect(status).toBe(403)
      expect(text).toContain('This form was sent from another page.')
      expect(text).toContain('name it in TRUST_PROXY')
    }
  })
})

describe('a foreign page', () => {
  const own = { Host, 'X-Forwarded-Proto': 'https' }
  test.each(['application/json', 'application/x-www-form-urlencoded', 'text/plain', 'image/png', ''])(
    'is refused with the content type %j',
    async (type) => {
      const as = { ...own, 'Content-Type': type }
      for (const foreign of [
        { Origin: 'https://evil.example' },
        { 'Sec-Fetch-Site': 'cross-site' },
        { 'Sec-Fetch-Site': 'same-site' },
        { 'Sec-Fetch-Site': 'nonsense' },
      ] as Record<string, string>[])
        expect((await post({ ...as, ...foreign })).status, JSON.stringify(foreign)).toBe(403)
    },
  )

  test.each(['PUT', 'PATCH', 'DELETE'])(
    'is refused with the method %s, and so is a request with neither header',
    async (method) => {
      for (const headers of [{ ...own, Origin: 'https://evil.example' }, own])
        expect((await ask(admin, '/support', { method, headers, from: proxy })).status).toBe(403)
    },
  )

  test('may link to these pages', async () => {
    const headers = { ...own, 'Sec-Fetch-Site': 'cross-site' }
    expect((await ask(admin, '/support', { headers, from: proxy })).status).toBe(200)
  })
})

test('answers over TLS keep browsers to TLS, errors too; others do not say so', async () => {
  const hsts = async (headers: Record<string, string>, from = proxy, path = '/support') =>
    (await ask(admin, path, { headers: { Host, ...headers }, from })).headers['strict-transport-security']
  expect(await hsts({ 'X-Forwarded-Proto': 'https' })).toBe('max-age=31536000')
  expect(await hsts({ 'X-Forwarded-Proto': 'https' }, proxy, '/no-such-page')).toBe('max-age=31536000')
  expect(await hsts({})).toBeUndefined()
  expect(await hsts({ 'X-Forwarded-Proto': 'https' }, '127.0.0.8')).toBeUndefined()
})
