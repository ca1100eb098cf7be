import { describe, expect, onTestFinished, test } from 'vitest'
import { absentId } from '../support/absent-id.ts'
import type { Answer } from '../support/answer.ts'
import { type Account, accept, buildAccount, buildKey, post, request, textBody } from '../support/builders.ts'
import { expectError, inTime } from '../support/expect-error.ts'
import { serviceOfFile, startTestService, type TestService } from '../support/service.ts'
import { freshRedis } from '../support/stores.ts'
import { closedPort } from '../support/tcp-proxy.ts'

const service = await serviceOfFile({ RATE_LIMIT_POINTS: '2', RATE_LIMIT_WINDOW_SECONDS: '60' })
/** The limit of a key: ten times as many as the account may send. */
const ofKey = 20

async function startedFor(settings: Record<string, string>, stores = service.stores): Promise<TestService> {
  const started = await startTestService({ RATE_LIMIT_POINTS: '2', ...settings }, stores)
  onTestFinished(() => started.stop())
  return started
}

const ask = (path: string, { apiKey }: Pick<Account, 'apiKey'>, init: RequestInit = {}, at = service) =>
  request(at, path, { ...init, headers: { ...init.headers, Authorization: `Bearer ${apiKey}` } })

const readAbsent = (account: Pick<Account, 'apiKey'>, at = service) =>
  ask(`/v1/messages/${absentId}`, account, {}, at)

async function times(count: number, work: () => Promise<Answer>): Promise<Answer[]> {
  return inTime(await Promise.all(Array.from({ length: count }, work)))
}

const statusesOf = (answers: readonly Answer[]) =>
  Object.fromEntries(
    [...new Set(answers.map(({ status }) => status))].map((status) => [
      status,
      answers.filter((answer) => answer.status === status).length,
    ]),
  )

function expectBeyond(answer: Answer) {
  expectError(answer, 429)
  expect(answer.body.message).toBe(
    'More than 20 reads and refused requests with this API key in 60 s. Slow down.',
  )
  expect(answer.headers.get('RateLimit-Policy')).toBe('"key";q=20;w=60')
  expect(answer.headers.get('RateLimit')).toMatch(/^"key";r=0;t=(60|5\d)$/)
  expect(answer.headers.get('Retry-After')).toMatch(/^(60|5\d)$/)
}

const json = { 'Content-Type': 'application/json' }
const reader = ['messages:read' as const]
const refusedBy: [string, number, (account: Account) => Promise<Answer>][] = [
  ['a send with a faulty body', 400, (account) => post(service, account, '{')],
  [
    'a send on an absent channel',
    404,
    (account) => post(service, { ...account, channelId: absentId }, textBody()),
  ],
  [
    'a cancel of an absent send',
    404,
    (account) => ask(`/v1/messages/${absentId}/cancel`, account, { method: 'POST' }),
  ],
  [
    'a move without a time',
    400,
    (account) => ask(`/v1/messages/${absentId}`, account, { method: 'PATCH', body: '{}', headers: json }),
  ],
  ['an absent channel', 404, (account) => ask(`/v1/channels/${absentId}`, account)],
  ['a list of channels with an unknown parameter', 400, (account) => ask('/v1/channels?x=1', account)],
  ['a request without permission', 403, (account) => ask('/v1/endpoints', account)],
]
const reads: [string, number, (account: Account) => Promise<Answer>][] = [
  ['a timeline', 404, (account) => readAbsent(account)],
  ['a list of sends', 200, (account) => ask('/v1/messages', account)],
  ['a list of sends, by HEAD', 200, (account) => ask('/v1/messages', account, { method: 'HEAD' })],
  ['a list of sends with an unknown parameter', 400, (account) => ask('/v1/messages?x=1', account)],
]

describe('ten times the limit of the account', () => {
  test.each([...refusedBy, ...reads])(
    'of %s may be asked with a key, and no more',
    async (_what, status, one) => {
      const account = await buildAccount(service)
      expect(statusesOf(await times(ofKey + 3, () => one(account)))).toEqual({ [status]: ofKey, 429: 3 })
      expectBeyond(await readAbsent(account))
    },
  )

  test('counts all kinds together, and each request once', async () => {
    const account = await buildAccount(service)
    const all = [...refusedBy, ...reads].slice(0, 10)
    const rounds = [...all, ...all]
    const answers = inTime(await Promise.all(rounds.map(([, , one]) => one(account))))
    expect(answers.map(({ status }) => status)).toEqual(rounds.map(([, status]) => status))
    for (const answer of answers) expect(answer.headers.get('RateLimit')).toBeNull()
    for (const [, , one] of all) expect((await one(account)).status).toBe(429)
  })

  test('is of each key, whatever the others of the account do', async () => {
    const account = await buildAccount(service)
    const other = await buildKey(service, account.accountId, { permissions: reader })
    await times(ofKey, () => readAbsent(account))
    expectBeyond(await readAbsent(account))
    expectError(await readAbsent(other), 404)
  })

  test("is ten times the account's own limit, and has its window", async () => {
    const account = await buildAccount(service, { rateLimit: { points: 1, seconds: 120 } })
    await times(10, () => readAbsent(account))
    const answer = await readAbsent(account)
    expectError(answer, 429)
    expect(answer.headers.get('RateLimit-Policy')).toBe('"key";q=10;w=120')
    expect(answer.headers.get('Retry-After')).toMatch(/^1[12]\d$/)
  })
})

describe('what else is asked with the key', () => {
  test('a good send is accepted beyond it, and a request that it refuses costs no send', async () => {
    const account = await buildAccount(service)
    await times(ofKey + 1, () => post(service, account, '{'))
    for (const left of [1, 0]) {
      const { status, headers } = await post(service, account, textBody())
      expect([status, headers.get('RateLimit')?.split(';')[1]]).toEqual([202, `r=${left}`])
    }
    const beyond = await post(service, account, textBody())
    expect(beyond.headers.get('RateLimit-Policy')).toBe('"default";q=2;w=60')
  })

  test("sends, and 429s of the account's limit, don't count for it", async () => {
    const account = await buildAccount(service)
    expect(statusesOf(await times(ofKey + 10, () => post(service, account, textBody())))).toEqual({
      202: 2,
      429: ofKey + 8,
    })
    expect(statusesOf(await times(ofKey, () => readAbsent(account)))).toEqual({ 404: ofKey })
  })

  test('a cancel, and what counts for the account, are not reads', async () => {
    const account = await buildAccount(service)
    const requestId = await accept(service, account, textBody())
    await times(ofKey, () => ask(`/v1/messages/${requestId}/cancel`, account, { method: 'POST' }))
    expect((await ask('/v1/channels', account)).status).toBe(200)
    expect(statusesOf(await times(ofKey, () => readAbsent(account)))).toEqual({ 404: ofKey })
  })
})

test('of a hundred at once over two processes exactly the limit gets past, and each 429 is counted', async () => {
  const other = await startedFor({})
  const account = await buildAccount(service)
  const refused = async () => {
    const counts = [service, other].map(({ runtime }) => runtime.metrics.rateLimited.get())
    const values = (await Promise.all(counts)).flatMap((metric) => metric.values)
    return values.filter(({ labels }) => labels.limit === 'key').reduce((sum, { value }) => sum + value, 0)
  }
  const before = await refused()
  const crowd = Array.from({ length: 100 }, (_, i) => readAbsent(account, i % 2 ? service : other))
  expect(statusesOf(inTime(await Promise.all(crowd)))).toEqual({ 404: ofKey, 429: 100 - ofKey })
  expect((await refused()) - before).toBe(100 - ofKey)
})

test('without Redis each process counts by itself', async () => {
  const account = await buildAccount(service)
  const away = await startedFor({ REDIS_URL: `redis://127.0.0.1:${await closedPort()}` })
  expect(statusesOf(await times(ofKey + 5, () => readAbsent(account, away)))).toEqual({ 404: ofKey, 429: 5 })
  expect((await post(away, account, textBody())).status).toBe(202)
})

test('an accept asks Redis no more than it did', async () => {
  const own = await startedFor(
    { RATE_LIMIT_POINTS: '1000' },
    { ...service.stores, redisUrl: await freshRedis() },
  )
  const account = await buildAccount(own)
  expect((await post(own, account, textBody())).status).toBe(202)
  const keys = await Promise.all(own.runtime.shards.map(({ redis }) => redis.keys('*:rate-of-key:*')))
  expect(keys.flat()).toEqual([])
  await readAbsent(account, own)
  const then = await Promise.all(own.runtime.shards.map(({ redis }) => redis.keys('*:rate-of-key:*')))
  expect(then.flat()).toHaveLength(1)
})
