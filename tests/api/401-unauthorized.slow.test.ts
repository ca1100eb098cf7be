import { setTimeout as sleep } from 'node:timers/promises'
import { eq } from 'drizzle-orm'
import { describe, expect, test } from 'vitest'
import { apiKeys } from '../../db/schema.ts'
import { mintApiKey } from '../../src/core/accounts/api-key.ts'
import { absentId } from '../support/absent-id.ts'
import type { Answer } from '../support/answer.ts'
import { buildAccount, buildKey, post, request, textBody } from '../support/builders.ts'
import { expectError, expectNothingAccepted, holdings } from '../support/expect-error.ts'
import { rawRequest } from '../support/raw-http.ts'
import { serviceOfFile, startTestService } from '../support/service.ts'
import { expectSooner, StoodStill, spanBetween, timed } from '../support/standstill.ts'
import { closedPort, startSilentServer } from '../support/tcp-proxy.ts'

const service = await serviceOfFile({ AUTH_FAILURE_LIMIT: '1000000' })
const account = await buildAccount(service)

/** Answers to one refused key on every route that takes a key. */
async function withAuthorization(headers: Record<string, string>): Promise<Answer[]> {
  const json = { 'Content-Type': 'application/json', ...headers }
  return await Promise.all([
    request(service, `/v1/channels/${account.channelId}/messages`, {
      method: 'POST',
      headers: json,
      body: JSON.stringify(textBody()),
    }),
    request(service, '/v1/messages', {
      method: 'POST',
      headers: json,
      body: JSON.stringify({ channelId: account.channelId, ...textBody() }),
    }),
    request(service, `/v1/messages/${absentId}`, { headers }),
  ])
}

async function expectUnauthorized(answer: Answer) {
  expectError(answer, 401)
  expect(answer.headers.get('WWW-Authenticate')).toBe('Bearer')
  await expectNothingAccepted(service, answer)
}

function altered(apiKey: string, at: number): string {
  return apiKey.slice(0, at) + (apiKey.charAt(at) === 'a' ? 'b' : 'a') + apiKey.slice(at + 1)
}

describe('refused on every route', () => {
  const unknownKey = () => mintApiKey(service.runtime.settings.API_KEY_PEPPER).apiKey
  const foreignKey = () => mintApiKey('the pepper of another installation').apiKey
  test.each<[string, () => Record<string, string>]>([
    ['no Authorization', () => ({})],
    ['an empty one', () => ({ Authorization: '' })],
    ['Basic x', () => ({ Authorization: 'Basic x' })],
    ['another scheme', () => ({ Authorization: `Basic ${btoa(`x:${account.apiKey}`)}` })],
    ['another scheme with a good key', () => ({ Authorization: `Token ${account.apiKey}` })],
    ['no scheme', () => ({ Authorization: account.apiKey })],
    ['Bearer alone', () => ({ Authorization: 'Bearer' })],
    ['Bearer and no space', () => ({ Authorization: `Bearer${account.apiKey}` })],
    ['two keys in one header', () => ({ Authorization: `Bearer ${account.apiKey} ${account.apiKey}` })],
    ['a list of two', () => ({ Authorization: `Bearer ${account.apiKey}, Bearer ${account.apiKey}` })],
    ['a quoted key', () => ({ Authorization: `Bearer "${account.apiKey}"` })],
    ['a key of another form', () => ({ Authorization: 'Bearer x' })],
    ['a key that is cut off', () => ({ Authorization: `Bearer ${account.apiKey.slice(0, -1)}` })],
    ['a key with more behind it', () => ({ Authorization: `Bearer ${account.apiKey}x` })],
    ['a key in capitals', () => ({ Authorization: `Bearer ${account.apiKey.toUpperCase()}` })],
    ['a very long key', () => ({ Authorization: `Bearer omk_${'x'.repeat(10_000)}` })],
    ['a key altered in its secret', () => ({ Authorization: `Bearer ${altered(account.apiKey, 10)}` })],
    ['a key altered in its checksum', () => ({ Authorization: `Bearer ${altered(account.apiKey, 52)}` })],
    ['a key of another installation', () => ({ Authorization: `Bearer ${foreignKey()}` })],
    ['a key that was never stored', () => ({ Authorization: `Bearer ${unknownKey()}` })],
    ['a good key in another header', () => ({ 'X-Api-Key': account.apiKey })],
  ])('%s', async (_what, headers) => {
    for (const answer of await withAuthorization(headers())) await expectUnauthorized(answer)
  })

  test('a good key in the query', async () => {
    const answer = await request(service, `/v1/messages/${absentId}?access_token=${account.apiKey}`)
    await expectUnauthorized(answer)
  })

  test('an expired key', async () => {
    const { apiKey } = await buildKey(service, account.accountId, { expiresAt: new Date(Date.now() - 1000) })
    for (const answer of await withAuthorization({ Authorization: `Bearer ${apiKey}` })) {
      await expectUnauthorized(answer)
    }
  })

  test('a revoked key', async () => {
    const { apiKey } = await buildKey(service, account.accountId, { revoked: true })
    for (const answer of await withAuthorization({ Authorization: `Bearer ${apiKey}` })) {
      await expectUnauthorized(answer)
    }
  })

  test.each([
    ['both good', () => [account.apiKey, account.apiKey]],
    ['a good one first', () => [account.apiKey, 'x']],
    ['a good one last', () => ['x', account.apiKey]],
  ])('two Authorization headers, %s', async (_which, keys) => {
    const answer = await rawRequest(service, {
      path: `/v1/channels/${account.channelId}/messages`,
      headers: { 'Content-Type': 'application/json', Authorization: keys().map((key) => `Bearer ${key}`) },
      chunks: [JSON.stringify(textBody())],
    })
    await expectUnauthorized(answer)
  })
})

test('all refused keys get the same answer', async () => {
  const { apiKey: expired } = await buildKey(service, account.accountId, { expiresAt: new Date(0) })
  const { apiKey: revoked } = await buildKey(service, account.accountId, { revoked: true })
  const messages = await Promise.all(
    [expired, revoked, altered(account.apiKey, 10), 'x'].map(async (apiKey) => {
      const { body } = await post(service, { ...account, apiKey }, textBody())
      return { ...body, requestId: undefined }
    }),
  )
  expect(new Set(messages.map((message) => JSON.stringify(message))).size).toBe(1)
})

test.each(['Bearer', 'bearer', 'BEARER'])('the scheme may be written %s', async (scheme) => {
  const { status } = await post(service, account, textBody(), {
    Authorization: `${scheme} ${account.apiKey}`,
  })
  expect(status).toBe(202)
})

describe('a key of a wrong form costs no query', () => {
  test('a made-up key is a 401 also without PostgreSQL, which is never queried for it', async () => {
    const silent = await startSilentServer()
    const databaseUrl = `postgres://u:p@127.0.0.1:${silent.port}/x`
    const away = await startTestService({ DATABASE_URL: databaseUrl }, service.stores)
    away.api.clock.stop()
    for (const apiKey of ['x', altered(account.apiKey, 10), altered(account.apiKey, 52)]) {
      expectError(await post(away, { ...account, apiKey }, textBody()), 401)
    }
    // Once, for its clock, when the service started.
    expect(silent.asked()).toBeLessThanOrEqual(1)
    await away.stop()
    await silent.close()
  })

  test('without Redis it is a 401 still', async () => {
    const redisUrl = `redis://127.0.0.1:${await closedPort()}`
    const away = await startTestService({ REDIS_URL: redisUrl }, service.stores)
    expectError(await post(away, { ...account, apiKey: 'x' }, textBody()), 401)
    await away.stop()
  })
})

describe('in use', () => {
  const marginMs = 50
  const readable = async (apiKey: string) => {
    const answer = await request(service, `/v1/messages/${absentId}`, {
      headers: { Authorization: `Bearer ${apiKey}` },
    })
    return answer.status === 404
  }

  test('a key that expires while it is in use is refused from that moment', async () => {
    const expiresAt = new Date(Date.now() + 700)
    const { apiKey } = await buildKey(service, account.accountId, { expiresAt })
    const { first, tookMs } = await timed(async () => ({ first: await readable(apiKey) }))
    expect(first).toBe(true)
    await sleep(expiresAt.getTime() - Date.now() + marginMs)
    // The rest of its time counts from the end of the look-up.
    if (tookMs > marginMs) throw new StoodStill(`the look-up took ${tookMs} ms`)
    expect(await readable(apiKey)).toBe(false)
  })

  test('a key whose expiry is brought forward is refused within 5 s', async () => {
    const { apiKey, keyId } = await buildKey(service, account.accountId, {
      expiresAt: new Date(Date.now() + 3_600_000),
    })
    expect(await readable(apiKey)).toBe(true)
    const { db } = service.runtime
    await db
      .update(apiKeys)
      .set({ expiresAt: new Date(Date.now() - 1) })
      .where(eq(apiKeys.id, keyId))
    const changedAt = performance.now()
    while (await readable(apiKey)) {
      expectSooner(spanBetween(changedAt, performance.now()), 5000)
      await sleep(100)
    }
  })
})

describe('the key comes before', () => {
  const stranger = () => ({ ...account, apiKey: 'x' })
  test.each([
    ['a malformed body', '{'],
    ['an empty body', ''],
    ['an unknown field', { ...textBody(), surplus: 1 }],
  ])('%s', async (_what, body) => {
    await expectUnauthorized(await post(service, stranger(), body))
  })

  test('a wrong content type', async () => {
    await expectUnauthorized(await post(service, stranger(), textBody(), { 'Content-Type': 'text/plain' }))
  })

  test('an absent channel', async () => {
    await expectUnauthorized(await post(service, { ...stranger(), channelId: absentId }, textBody()))
  })

  test('a body that never ends', async () => {
    const answer = await rawRequest(service, {
      path: `/v1/channels/${account.channelId}/messages`,
      headers: { 'Content-Type': 'application/json' },
      chunks: ['{'],
      keepOpen: true,
    })
    await expectUnauthorized(answer)
  })
})

test('a refused key records nothing, enqueues nothing, and is in no log line', async () => {
  const before = await holdings(service)
  const apiKey = altered(account.apiKey, 10)
  const { body } = await post(service, { ...account, apiKey }, textBody('a secret'))
  expect(await holdings(service)).toEqual(before)
  expect(service.logsOf(body.requestId)).toMatchObject([{ event: 'rejected', statusCode: 401 }])
  expect(JSON.stringify(service.logs)).not.toContain(apiKey.slice(4, 40))
  expect(JSON.stringify(service.logs)).not.toContain('a secret')
})
