import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { startTestAdmin, type TestAdmin } from '../support/admin.ts'
import { ask, buildPerson, password } from '../support/people.ts'
import { startTestService, type TestService } from '../support/service.ts'

let service: TestService
/** Two processes behind one proxy. */
let admins: TestAdmin[]

beforeAll(async () => {
  service = await startTestService()
  const settings = { TRUST_PROXY: '127.0.0.0/8' }
  admins = [await startTestAdmin(service, settings), await startTestAdmin(service, settings)]
  const others = Array.from({ length: 80 }, (_, n) => `name ${n}`)
  for (const name of ['Ann', 'Bob', 'Cid', ...others]) await buildPerson(service, name, 'support')
})
beforeEach(async () => {
  await service.runtime.redis.flushdb()
  await service.runtime.db.$client.query("update people set known_addresses = '{}'")
})
afterAll(async () => {
  for (const admin of admins) await admin.stop()
  await service.stop()
})

let turn = 0
async function attempt(name: string, from: string, given = 'a wrong password') {
  const admin = admins[turn++ % 2] as TestAdmin
  const answer = await ask(admin, '/login', {
    form: { name, password: given },
    headers: { 'X-Forwarded-For': from },
  })
  return answer
}
const statusOf = async (...args: Parameters<typeof attempt>) => (await attempt(...args)).status
const guess = (count: number, at: (n: number) => [name: string, from: string]) =>
  Promise.all(Array.from({ length: count }, (_, n) => statusOf(...at(n))))
const counted = (statuses: number[]) => ({
  tried: statuses.filter((status) => status === 401).length,
  limited: statuses.filter((status) => status === 429).length,
})

test('guesses at one person from one address end after ten, over all processes, at once or not', async () => {
  const statuses = await guess(25, () => ['Ann', '192.0.2.1'])
  expect(counted(statuses)).toEqual({ tried: 10, limited: 15 })
  const refused = await attempt('ann', '192.0.2.1', password)
  expect(refused.status).toBe(429)
  expect(refused.text).toMatch(
    /Too many wrong passwords for this name or from this address\. Try again in \d+ min\./,
  )
  expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0)
})

test('they keep nobody else behind the proxy out, nor that person at another address', async () => {
  await guess(12, () => ['Ann', '192.0.2.1'])
  expect(await statusOf('Ann', '192.0.2.2', password)).toBe(303)
  expect(await statusOf('Bob', '192.0.2.1', password)).toBe(303)
})

test('guesses at one person from many addresses are limited, and keep them out only where they never were', async () => {
  expect(await statusOf('Ann', '192.0.2.77', password)).toBe(303)
  const statuses = await guess(80, (n) => ['Ann', `198.51.100.${n}`])
  expect(counted(statuses)).toEqual({ tried: 50, limited: 30 })
  expect(await statusOf('Ann', '198.51.100.200', password)).toBe(429)
  expect(await statusOf('Ann', '192.0.2.77', password)).toBe(303)
  expect(await statusOf('Bob', '198.51.100.200', password)).toBe(303)
})

test('guesses at many persons from one address are limited, and keep out nobody who has signed in from there', async () => {
  expect(await statusOf('Ann', '192.0.2.5', password)).toBe(303)
  const statuses = await guess(80, (n) => [`name ${n}`, '192.0.2.5'])
  expect(counted(statuses)).toEqual({ tried: 50, limited: 30 })
  expect(await statusOf('Bob', '192.0.2.5', password)).toBe(429)
  expect(await statusOf('Ann', '192.0.2.5', password)).toBe(303)
  expect(await statusOf('Bob', '192.0.2.6', password)).toBe(303)
})

test('more sign-ins at once than can be worked on are put off, and cost nobody anything', async () => {
  const [admin] = admins as [TestAdmin]
  const answers = await Promise.all(
    Array.from({ length: 60 }, (_, n) => {
      const headers = { 'X-Forwarded-For': `198.51.100.${n}` }
      return ask(admin, '/login', { form: { name: `nobody ${n}`, password: 'wrong' }, headers })
    }),
  )
  const statuses = answers.map(({ status }) => status)
  expect(new Set(statuses)).toEqual(new Set([401, 503]))
  const putOff = answers[statuses.indexOf(503)]
  expect(putOff?.text).toContain('Too many people sign in at this moment. Try again.')
  expect(putOff?.headers['retry-after']).toBe('1')
  expect(await statusOf('Ann', '198.51.100.200', password)).toBe(303)
})

test('while strangers of one network keep all hashing busy, a person elsewhere signs in', async () => {
  const [admin] = admins as [TestAdmin]
  const at = (name: string, from: string, given: string) =>
    ask(admin, '/login', { form: { name, password: given }, headers: { 'X-Forwarded-For': from } })
  const strangers = Array.from({ length: 60 }, (_, n) => at(`nobody ${n}`, `2001:db8:5:${n}::1`, 'wrong'))
  // The queue is full.
  await Promise.race(strangers.map(async (one) => (await one).status === 503 || new Promise(() => {})))
  expect((await at('Ann', '192.0.2.1', password)).status).toBe(303)
  await Promise.all(strangers)
})

test('of IPv6 a whole /64 counts as one address', async () => {
  const statuses = await guess(15, (n) => ['Ann', `2001:db8:1:2::${n + 1}`])
  expect(counted(statuses)).toEqual({ tried: 10, limited: 5 })
})

test('right passwords use nothing up', async () => {
  for (let n = 0; n < 12; n++) expect(await statusOf('Cid', '192.0.2.9', password)).toBe(303)
})

test('a client cannot choose its address: what it writes into X-Forwarded-For counts only up to the proxy', async () => {
  const statuses = await guess(15, (n) => ['Ann', `203.0.113.${n}, 192.0.2.1`])
  expect(counted(statuses)).toEqual({ tried: 10, limited: 5 })
})
