import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Answer } from '../support/answer.ts'
import { type Account, buildAccount, post, sameBody } from '../support/builders.ts'
import { expectError, inTime } from '../support/expect-error.ts'
import { startTestService, type TestService } from '../support/service.ts'
import {
  expectAccepted,
  expectOneSend,
  expectReplay,
  holdInserts,
  newKey,
  pointsUsed,
  postKeyed,
  raceToInsert,
  sendsOf,
} from './keyed.ts'

/** Three processes' worth of API on the same stores. */
let services: TestService[]
let service: TestService

beforeAll(async () => {
  service = await startTestService()
  const others = [startTestService({}, service.stores), startTestService({}, service.stores)]
  services = [service, ...(await Promise.all(others))]
})
afterAll(() => Promise.all(services.map(({ stop }) => stop())))

const at = (index: number) => services[index % services.length] as TestService

const tenAMinute = () => buildAccount(service, { rateLimit: { points: 10, seconds: 60 } })

/** Requests with one key, none of which finds it, because all look it up before one is recorded. */
function race(account: Account, count: number, key = newKey()): Promise<Answer[]> {
  const requests = Array.from({ length: count }, (_, i) => () => postKeyed(at(i), account, key, sameBody()))
  return raceToInsert(service, account, requests)
}

/** How many of a crowd of other requests the account's limit lets through. */
async function taken(account: Account): Promise<number> {
  const crowd = Array.from({ length: 30 }, (_, i) => post(at(i), account, sameBody(`n ${i}`)))
  return inTime(await Promise.all(crowd)).filter(({ status }) => status === 202).length
}

test('requests that lost a race use up nothing of the limit, and their headers show that', async () => {
  const account = await tenAMinute()
  const answers = await race(account, 10)
  expectOneSend(answers)
  expect(await pointsUsed(service, account)).toBe(1)
  const remaining = answers.map(({ headers }) => Number(headers.get('RateLimit')?.match(/r=(\d+)/)?.[1]))
  expect(Math.max(...remaining)).toBe(9)
  for (const { headers } of answers) expect(headers.get('RateLimit-Policy')).toBe('"default";q=10;w=60')
  expect(await taken(account)).toBe(9)
})

test('over many races, a limit of ten accepts ten sends', async () => {
  const account = await tenAMinute()
  const keys = Array.from({ length: 5 }, newKey)
  for (const key of keys) {
    const three = [0, 1, 2].map((i) => postKeyed(at(i), account, key, sameBody()))
    expectOneSend(inTime(await Promise.all(three)))
  }
  expect(await pointsUsed(service, account)).toBe(5)
  expect(await taken(account)).toBe(5)
  expect(await sendsOf(service, account)).toHaveLength(10)
})

test('a hundred at once with one key and a limit of ten make one send: each is a 202 of it, or a 429', async () => {
  const account = await tenAMinute()
  const key = newKey()
  const answers = await race(account, 100, key)
  const requestId = expectOneSend(answers.filter(({ status }) => status !== 429))
  for (const answer of answers) if (answer.status !== 202) expectError(answer, 429)
  expect((await sendsOf(service, account)).map((send) => send.requestId)).toEqual([requestId])
  for (let i = 0; i < 3; i++) expectReplay(await postKeyed(at(i), account, key, sameBody()), requestId)
  expect((await sendsOf(service, account)).length + (await taken(account))).toBeLessThanOrEqual(10)
})

test('of a limit of ten, a hundred at once with one key use up one', async () => {
  const account = await tenAMinute()
  await race(account, 100)
  expect(await taken(account)).toBe(9)
})

test('points given back after their window has ended do not widen the next one', async () => {
  const account = await buildAccount(service, { rateLimit: { points: 3, seconds: 1 } })
  expectAccepted(await post(service, account, sameBody()))
  await sleep(600)
  const hold = await holdInserts(service)
  const key = newKey()
  const answers = Promise.all([0, 1].map((i) => postKeyed(at(i), account, key, sameBody())))
  await sleep(600)
  await hold.release()
  expectOneSend(inTime(await answers))
  expect(await taken(account)).toBeLessThanOrEqual(3)
})
