import { setTimeout as sleep } from 'node:timers/promises'
import { eq } from 'drizzle-orm'
import { describe, expect, onTestFinished, test } from 'vitest'
import { sends } from '../../db/schema.ts'
import { absentId } from '../support/absent-id.ts'
import type { Answer } from '../support/answer.ts'
import { buildAccount, buildKey, post, request, textBody } from '../support/builders.ts'
import { expectError, expectNothingAccepted, holdings, inTime } from '../support/expect-error.ts'
import { longestAnswerMs } from '../support/longest-answer.ts'
import { redisReady } from '../support/redis-ready.ts'
import { serviceOfFile, startTestService, type TestService } from '../support/service.ts'
import { expectSooner, timed } from '../support/standstill.ts'
import { freshRedis, isOnCluster } from '../support/stores.ts'
import { closedPort, startSilentServer, startTcpProxy } from '../support/tcp-proxy.ts'
import { eventually } from '../support/wait.ts'

const service = await serviceOfFile({ RATE_LIMIT_POINTS: '3', RATE_LIMIT_WINDOW_SECONDS: '60' })

async function startedFor(settings: Record<string, string>, stores = service.stores): Promise<TestService> {
  const started = await startTestService(settings, stores)
  onTestFinished(() => started.stop())
  return started
}

/** Other addresses' failures are counted in another Redis. */
const ownRedis = async () => ({ ...service.stores, redisUrl: await freshRedis() })

async function times(count: number, send: () => Promise<Answer>): Promise<number[]> {
  const statuses: number[] = []
  for (let i = 0; i < count; i++) statuses.push((await send()).status)
  return statuses
}

describe('per account', () => {
  test('the request after the last allowed one is refused, and records nothing', async () => {
    const account = await buildAccount(service)
    expect(await times(3, () => post(service, account, textBody()))).toEqual([202, 202, 202])
    const before = await holdings(service)
    const answer = await post(service, account, textBody())
    expectError(answer, 429)
    await expectNothingAccepted(service, answer)
    expect(await holdings(service)).toEqual(before)
  })

  test('202 and 429 have headers with the limit, what is left, and the wait', async () => {
    const account = await buildAccount(service)
    for (const left of [2, 1, 0]) {
      const { status, headers } = await post(service, account, textBody())
      expect(status).toBe(202)
      expect(headers.get('RateLimit-Policy')).toBe('"default";q=3;w=60')
      expect(headers.get('RateLimit')).toMatch(new RegExp(`^"default";r=${left};t=(60|59)$`))
      expect(headers.get('Retry-After')).toBeNull()
    }
    const { headers } = await post(service, account, textBody())
    expect(headers.get('RateLimit-Policy')).toBe('"default";q=3;w=60')
    expect(headers.get('RateLimit')).toMatch(/^"default";r=0;t=(60|59|58)$/)
    expect(headers.get('Retry-After')).toMatch(/^(60|59|58)$/)
  })

  test('both endpoints and all keys of an account count together; accounts count apart', async () => {
    const account = await buildAccount(service)
    const other = await buildAccount(service)
    const second = { ...account, ...(await buildKey(service, account.accountId)) }
    const inBody = () =>
      request(service, '/v1/messages', {
        method: 'POST',
        headers: { Authorization: `Bearer ${account.apiKey}`, 'Content-Type': 'application/json' },
        body: JSON.stringify({ channelId: account.channelId, ...textBody() }),
      })
    expect((await post(service, account, textBody())).status).toBe(202)
    expect((await post(service, second, textBody())).status).toBe(202)
    expect((await inBody()).status).toBe(202)
    expectError(await inBody(), 429)
    expectError(await post(service, second, textBody()), 429)
    expect((await post(service, other, textBody())).status).toBe(202)
  })

  test('only requests that reach the rate limit count', async () => {
    const account = await buildAccount(service)
    const reader = await buildKey(service, account.accountId, { permissions: ['messages:read'] })
    const headers = { Authorization: `Bearer ${account.apiKey}` }
    const refused = [
      await post(service, { ...account, apiKey: 'x' }, textBody()),
      await post(service, { ...account, ...reader }, textBody()),
      await post(service, account, '{'),
      await post(service, account, textBody('')),
      await post(service, account, textBody(), { 'Content-Type': 'text/plain' }),
      await post(service, account, { ...textBody(), flowId: absentId }),
      await post(service, { ...account, channelId: absentId }, textBody()),
      await request(service, `/v1/messages/${absentId}`, { headers }),
      await request(service, '/v1/messages', { method: 'DELETE', headers }),
    ]
    expect(refused.map(({ status }) => status)).toEqual([401, 403, 400, 400, 400, 400, 404, 404, 405])
    for (const answer of refused) expect(answer.headers.get('RateLimit')).toBeNull()
    const accepted = await post(service, account, textBody())
    expect(accepted.headers.get('RateLimit')).toMatch(/;r=2;/)
  })

  test('reads are not limited by the number of sends', async () => {
    const account = await buildAccount(service)
    const [first] = await Promise.all(Array.from({ length: 5 }, () => post(service, account, textBody())))
    const headers = { Authorization: `Bearer ${account.apiKey}` }
    expect((await request(service, `/v1/messages/${first?.body.requestId}`, { headers })).status).not.toBe(
      429,
    )
  })

  test("an account's own limit counts in place of the common one", async () => {
    const wide = await buildAccount(service, { rateLimit: { points: 5, seconds: 10 } })
    const narrow = await buildAccount(service, { rateLimit: { points: 1, seconds: 120 } })
    expect(await times(6, () => post(service, wide, textBody()))).toEqual([202, 202, 202, 202, 202, 429])
    const { headers } = await post(service, narrow, textBody())
    expect(headers.get('RateLimit-Policy')).toBe('"default";q=1;w=120')
    const refused = await post(service, narrow, textBody())
    expectError(refused, 429)
    expect(refused.headers.get('Retry-After')).toMatch(/^(120|119)$/)
  })

  test('after the wait in Retry-After, sends are accepted again', async () => {
    const account = await buildAccount(service, { rateLimit: { points: 2, seconds: 1 } })
    expect(await times(3, () => post(service, account, textBody()))).toEqual([202, 202, 429])
    const { headers } = await post(service, account, textBody())
    expect(headers.get('Retry-After')).toBe('1')
    await sleep(1000)
    expect((await post(service, account, textBody())).status).toBe(202)
  })

  test('of a hundred at once over two processes exactly the limit is accepted', async () => {
    const other = await startedFor({ RATE_LIMIT_POINTS: '3' })
    const account = await buildAccount(service, { rateLimit: { points: 10, seconds: 60 } })
    const crowd = Array.from({ length: 100 }, (_, i) => post(i % 2 ? service : other, account, textBody()))
    const answers = inTime(await Promise.all(crowd))
    const taken = answers.filter(({ status }) => status === 202)
    expect(taken).toHaveLength(10)
    for (const answer of answers) if (!taken.includes(answer)) expectError(answer, 429)
    const { db } = service.runtime
    expect(await db.select().from(sends).where(eq(sends.accountId, account.accountId))).toHaveLength(10)
    const remaining = taken.map(({ headers }) => headers.get('RateLimit')?.match(/r=(\d+)/)?.[1])
    expect(remaining.map(Number).sort((a, b) => a - b)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
  })
})

describe('without Redis', () => {
  test('sends are still accepted, recorded and limited by each process', async () => {
    const account = await buildAccount(service)
    const away = await startedFor({
      REDIS_URL: `redis://127.0.0.1:${await closedPort()}`,
      RATE_LIMIT_POINTS: '3',
    })
    const answers: Answer[] = []
    for (let i = 0; i < 5; i++) {
      const answer = await timed(() => post(away, account, textBody()))
      expectSooner(answer, longestAnswerMs)
      answers.push(answer)
    }
    expect(answers.map(({ status }) => status)).toEqual([202, 202, 202, 429, 429])
    expect(answers[3]?.headers.get('Retry-After')).toMatch(/^(60|59|58)$/)
    const { db } = service.runtime
    const recorded = await db.select().from(sends).where(eq(sends.accountId, account.accountId))
    expect(recorded.map(({ requestId }) => requestId).sort()).toEqual(
      answers
        .slice(0, 3)
        .map(({ body }) => body.requestId)
        .sort(),
    )
  })

  test('many requests at once are limited too', async () => {
    const account = await buildAccount(service, { rateLimit: { points: 10, seconds: 60 } })
    const away = await startedFor({ REDIS_URL: `redis://127.0.0.1:${await closedPort()}` })
    const crowd = Array.from({ length: 50 }, () => post(away, account, textBody()))
    const answers = inTime(await Promise.all(crowd))
    expect(answers.filter(({ status }) => status === 202)).toHaveLength(10)
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(40)
  })

  test('a Redis that accepts connections and never answers counts as absent', async () => {
    const account = await buildAccount(service)
    const silent = await startSilentServer()
    onTestFinished(() => silent.close())
    const away = await startedFor({ REDIS_URL: `redis://127.0.0.1:${silent.port}`, RATE_LIMIT_POINTS: '1' })
    for (const status of [202, 429]) {
      const answer = await timed(() => post(away, account, textBody()))
      expect(answer.status).toBe(status)
      expectSooner(answer, longestAnswerMs)
    }
  })

  test.skipIf(isOnCluster())('a Redis that hangs while in use counts as absent', async () => {
    const account = await buildAccount(service)
    const proxy = await startTcpProxy(service.stores.redisUrl)
    onTestFinished(() => proxy.close())
    const away = await startedFor({ REDIS_URL: proxy.url, RATE_LIMIT_POINTS: '2' })
    await redisReady(away)
    expect((await post(away, await buildAccount(service), textBody())).status).toBe(202)
    proxy.freeze()
    for (const status of [202, 202, 429]) {
      const answer = await timed(() => post(away, account, textBody()))
      expect(answer.status).toBe(status)
      expectSooner(answer, longestAnswerMs)
    }
  })
})

describe('an address whose keys keep failing', () => {
  const failing = (at: TestService, headers: Record<string, string> = {}) =>
    request(at, `/v1/messages/${absentId}`, { headers: { Authorization: 'Bearer x', ...headers } })

  test('gets 429, while a good key from there still passes', async () => {
    const at = await startedFor({ AUTH_FAILURE_LIMIT: '3' }, await ownRedis())
    const account = await buildAccount(at)
    expect(await times(4, () => failing(at))).toEqual([401, 401, 401, 429])
    const answer = await post(at, { ...account, apiKey: 'x' }, textBody())
    expectError(answer, 429)
    expect(answer.headers.get('Retry-After')).toMatch(/^(60|59|58|57)$/)
    await expectNothingAccepted(at, answer)
    expect((await post(at, account, textBody())).status).toBe(202)
    const fresh = { ...account, ...(await buildKey(at, account.accountId)) }
    expect((await post(at, fresh, textBody())).status).toBe(202)
  })

  test("requests with a valid key don't count as failures", async () => {
    const at = await startedFor({ AUTH_FAILURE_LIMIT: '2' }, await ownRedis())
    const account = await buildAccount(at)
    expect(await times(10, () => post(at, account, textBody()))).toEqual(Array(10).fill(202))
    expect(await times(3, () => failing(at))).toEqual([401, 401, 429])
  })

  test('counts over all processes, and keys of every kind that fail', async () => {
    const one = await startedFor({ AUTH_FAILURE_LIMIT: '4' }, await ownRedis())
    const other = await startedFor({ AUTH_FAILURE_LIMIT: '4' }, one.stores)
    const account = await buildAccount(one)
    const { apiKey: expired } = await buildKey(one, account.accountId, { expiresAt: new Date(0) })
    const { apiKey: revoked } = await buildKey(one, account.accountId, { revoked: true })
    expectError(await failing(one), 401)
    expectError(await failing(other), 401)
    expectError(await failing(one, { Authorization: `Bearer ${expired}` }), 401)
    expectError(await failing(other, { Authorization: `Bearer ${revoked}` }), 401)
    for (const at of [one, other, one, other]) expectError(await failing(at), 429)
  })

  test('is refused without touching PostgreSQL', async () => {
    const silent = await startSilentServer()
    onTestFinished(() => silent.close())
    const databaseUrl = `postgres://u:p@127.0.0.1:${silent.port}/x`
    const at = await startedFor({ AUTH_FAILURE_LIMIT: '2', DATABASE_URL: databaseUrl }, await ownRedis())
    // It reads PostgreSQL's clock when it begins.
    at.api.clock.stop()
    await eventually('the clock', async () => silent.asked() === 1)
    expect(await times(6, () => failing(at))).toEqual([401, 401, 429, 429, 429, 429])
    expect(silent.asked()).toBe(1)
  })

  test('is limited without Redis too', async () => {
    const at = await startedFor({
      AUTH_FAILURE_LIMIT: '2',
      REDIS_URL: `redis://127.0.0.1:${await closedPort()}`,
    })
    const account = await buildAccount(service)
    expect(await times(4, () => failing(at))).toEqual([401, 401, 429, 429])
    expect((await post(at, account, textBody())).status).toBe(202)
  })

  test("cannot change its address by a header of its own, and is the client's behind a trusted proxy", async () => {
    const direct = await startedFor({ AUTH_FAILURE_LIMIT: '2' }, await ownRedis())
    const behind = await startedFor(
      { AUTH_FAILURE_LIMIT: '2', TRUST_PROXY: '127.0.0.0/8,10.0.0.0/8' },
      await ownRedis(),
    )
    const from = (at: TestService, forwarded: string) =>
      failing(at, { 'X-Forwarded-For': forwarded }).then(({ status }) => status)
    expect(await from(direct, '203.0.113.1')).toBe(401)
    expect(await from(direct, '203.0.113.2')).toBe(401)
    expect(await from(direct, '203.0.113.3')).toBe(429)

    expect(await from(behind, '203.0.113.1')).toBe(401)
    expect(await from(behind, '198.51.100.9, 203.0.113.1')).toBe(401)
    expect(await from(behind, '198.51.100.8, 203.0.113.1, 10.0.0.7')).toBe(429)
    expect(await from(behind, '203.0.113.2')).toBe(401)
  })

  test('is the same client whatever port a proxy writes behind its address, or behind that of another proxy', async () => {
    const at = await startedFor(
      { AUTH_FAILURE_LIMIT: '1', TRUST_PROXY: '127.0.0.0/8,::1/128,10.0.0.0/8,2001:db8:9::/48' },
      await ownRedis(),
    )
    const from = async (forwarded: string) => (await failing(at, { 'X-Forwarded-For': forwarded })).status
    for (const [first, ...others] of [
      ['203.0.113.79:4001', '203.0.113.79:4002', '203.0.113.79', '203.0.113.79:4003, 10.0.0.7:5000'],
      [
        '[2001:db8::1]:443',
        '[2001:db8::1]',
        '2001:db8::1',
        '[2001:db8::1]:1, [2001:db8:9::1]:2, [2001:db8:9::2]',
      ],
    ]) {
      expect(await from(first ?? '')).toBe(401)
      for (const other of others) expect(await from(other), other).toBe(429)
    }
    expect(await from('203.0.113.80:4001')).toBe(401)
  })

  test('cannot change its address by a header of its own where another network is trusted', async () => {
    const at = await startedFor({ AUTH_FAILURE_LIMIT: '2', TRUST_PROXY: '10.0.0.0/8' }, await ownRedis())
    const statuses: number[] = []
    for (const forwarded of ['203.0.113.1', '203.0.113.2, 10.0.0.1', '10.0.0.2'])
      statuses.push((await failing(at, { 'X-Forwarded-For': forwarded })).status)
    expect(statuses).toEqual([401, 401, 429])
  })
})

describe('a proxy that is not in TRUST_PROXY', () => {
  const warnings = ({ logs }: TestService) =>
    logs
      .filter(({ event }) => event === 'x_forwarded_for_ignored')
      .map(({ level, reason }) => ({ level, reason }))
  const advice = { level: 'warn', reason: expect.stringContaining('TRUST_PROXY') }
  const forwarded = { 'X-Forwarded-For': '203.0.113.1' }

  test('is logged once, at the first request with its header, whether its key is valid or not', async () => {
    const account = await buildAccount(service)
    const byAGoodKey = await startedFor({})
    const byABadKey = await startedFor({})
    for (const at of [byAGoodKey, byABadKey]) {
      await post(at, account, textBody())
      expect(warnings(at)).toEqual([])
    }
    for (let i = 0; i < 3; i++) {
      expect((await post(byAGoodKey, account, textBody(), forwarded)).status).toBe(202)
      expect((await post(byABadKey, { ...account, apiKey: 'x' }, textBody(), forwarded)).status).toBe(401)
    }
    expect(warnings(byAGoodKey)).toEqual([advice])
    expect(warnings(byABadKey)).toEqual([advice])
    expect(JSON.stringify([byAGoodKey.logs, byABadKey.logs])).not.toContain('203.0.113.1')
  })

  test('is logged also at a request that matches no route', async () => {
    const at = await startedFor({})
    expect((await fetch(`${at.url}/nowhere`, { headers: forwarded })).status).toBe(404)
    expect(warnings(at)).toEqual([advice])
  })

  test('is not logged where TRUST_PROXY names one', async () => {
    const at = await startedFor({ TRUST_PROXY: '127.0.0.0/8' })
    await post(at, await buildAccount(service), textBody(), forwarded)
    expect(warnings(at)).toEqual([])
  })
})
