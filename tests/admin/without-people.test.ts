import { afterAll, beforeAll, expect, test } from 'vitest'
import { removePerson } from '../../db/people/people.ts'
import { startTestAdmin } from '../support/admin.ts'
import { ask, buildPerson, signIn } from '../support/people.ts'
import { startTestService, type TestService } from '../support/service.ts'

let service: TestService

beforeAll(async () => {
  service = await startTestService()
})
afterAll(() => service.stop())

async function asks(settings: Record<string, string>, paths: string[], headers = {}) {
  const admin = await startTestAdmin(service, settings)
  const answers = await Promise.all(paths.map((path) => ask(admin, path, { headers })))
  await admin.stop()
  return answers.map(({ status, location }) => location ?? status)
}

const basic = { Authorization: `Basic ${btoa('admin:a password')}` }

test('ADMIN_PASSWORD opens the pages for the operator admin, and the sign-in leads on', async () => {
  const settings = { ADMIN_PASSWORD: 'a password' }
  expect(await asks(settings, ['/people', '/queues', '/metrics', '/login?next=/inbox'], basic)).toEqual([
    200,
    200,
    200,
    '/inbox',
  ])
  expect(await asks(settings, ['/people', '/login', '/metrics'])).toEqual([401, 401, 401])
})

test('wrong ones count for the address that a trusted proxy names', async () => {
  const settings = { ADMIN_PASSWORD: 'a password', TRUST_PROXY: '127.0.0.1/32' }
  const wrong = { Authorization: `Basic ${btoa('admin:guess')}` }
  const admin = await startTestAdmin(service, settings)
  const from = async (address: string, headers = wrong) =>
    (await ask(admin, '/support', { headers: { ...headers, 'X-Forwarded-For': address } })).status
  for (let n = 0; n < 10; n++) expect(await from('192.0.2.1')).toBe(401)
  expect(await from('192.0.2.1', basic)).toBe(429)
  expect(await from('192.0.2.2', basic)).toBe(200)
  await admin.stop()
})

test('without a password the pages are open on this machine', async () => {
  expect(await asks({}, ['/people', '/metrics', '/login'])).toEqual([200, 200, '/'])
})

test('they are not where a proxy signs people in', async () => {
  const settings = { ADMIN_USER_HEADER: 'X-User', ADMIN_ROLE_HEADER: 'X-Role', TRUST_PROXY: '127.0.0.1/32' }
  expect(await asks(settings, ['/support', '/people', '/login', '/metrics'])).toEqual([403, 403, 403, 200])
  expect(await asks(settings, ['/support'], { 'X-User': 'bob', 'X-Role': 'operator' })).toEqual([200])
  expect(await asks({ ...settings, ADMIN_PASSWORD: 'a password' }, ['/support'], basic)).toEqual([200])
})

test('once there were people, removing the last one opens the pages to nobody; adding one lets them in', async () => {
  const { db } = service.runtime
  await buildPerson(service, 'Oz', 'operator')
  await removePerson(db, 'Oz')
  expect(await asks({ ADMIN_PASSWORD: 'a password' }, ['/people', '/metrics'], basic)).toEqual([
    '/login?next=%2Fpeople',
    200,
  ])
  expect(await asks({}, ['/people'])).toEqual(['/login?next=%2Fpeople'])
  await buildPerson(service, 'Oz', 'operator')
  const admin = await startTestAdmin(service)
  expect((await ask(admin, '/people', { headers: await signIn(admin, 'Oz') })).status).toBe(200)
  await admin.stop()
})
