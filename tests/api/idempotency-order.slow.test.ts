import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { setTemplate } from '../../db/accounts/templates.ts'
import { absentId } from '../support/absent-id.ts'
import type { Answer } from '../support/answer.ts'
import { type Account, buildAccount, buildKey, post, sameBody } from '../support/builders.ts'
import { expectError, holdings } from '../support/expect-error.ts'
import { longestAnswerMs } from '../support/longest-answer.ts'
import { rawRequest } from '../support/raw-http.ts'
import { startTestService, type TestService } from '../support/service.ts'
import { expectSooner, timed } from '../support/standstill.ts'
import { closedPort, startSilentServer, startTcpProxy } from '../support/tcp-proxy.ts'
import {
  expectAccepted,
  expectReplay,
  holdInserts,
  keptOf,
  newKey,
  pointsUsed,
  postKeyed,
  postKeyedInBody,
  sendsOf,
} from './keyed.ts'

let service: TestService
let account: Account

beforeAll(async () => {
  service = await startTestService()
})
beforeEach(async () => {
  account = await buildAccount(service)
})
afterAll(() => service.stop())

function postRaw(keys: string[], body: object = sameBody(), channelId = account.channelId) {
  return rawRequest(service, {
    path: `/v1/channels/${channelId}/messages`,
    headers: {
      Authorization: `Bearer ${account.apiKey}`,
      'Content-Type': 'application/json',
      'Idempotency-Key': keys,
    },
    chunks: [JSON.stringify(body)],
  })
}

async function soon(send: () => Promise<Answer>): Promise<Answer> {
  const answer = await timed(send)
  expectSooner(answer, longestAnswerMs)
  return answer
}

function expectUnavailable(answer: Answer): void {
  expectError(answer, 503)
  expect(answer.headers.get('Retry-After')).toMatch(/^[1-9][0-9]*$/)
}

describe('the header', () => {
  test.each([
    ['empty', ['']],
    ['empty between quotes', ['""']],
    ['of 256 characters', ['k'.repeat(256)]],
    ['of 256 characters between quotes', [`"${'k'.repeat(256)}"`]],
    ['without its closing quote', ['"order']],
    ['with something behind the quotes', ['"order"; v=1']],
    ['given twice', ['one', 'two']],
    ['given twice alike', ['one', 'one']],
  ])('%s is a 400 that names the header, and nothing is recorded', async (_how, keys) => {
    const before = await holdings(service)
    expectError(await postRaw(keys), 400, /^Idempotency-Key: /)
    expect(await holdings(service)).toEqual(before)
    expect(await pointsUsed(service, account)).toBe(0)
  })

  test.each([
    ['of 1 character', 'k'],
    ['of 255 characters', 'k'.repeat(255)],
    ['of 255 characters between quotes', `"${'k'.repeat(255)}"`],
    ['with a quote inside', '"say \\"hi\\""'],
  ])('%s is taken', async (_how, key) => {
    const requestId = expectAccepted(await postRaw([key]))
    expectReplay(await postRaw([key]), requestId)
  })
})

describe('what is checked before a replay and before a 422:', () => {
  test.each([
    ['a replay', {}],
    ['a 422', { closeConversation: true }],
  ])(
    'a request without permission, with faults, or for an absent channel or flow is never %s',
    async (_what, change) => {
      const key = newKey()
      const body = { ...sameBody(), ...change }
      const requestId = expectAccepted(await postKeyed(service, account, key, sameBody()))
      const reader = await buildKey(service, account.accountId, { permissions: ['messages:read'] })
      const revoked = await buildKey(service, account.accountId, { revoked: true })
      const stranger = await buildAccount(service)
      expectError(await postKeyed(service, { ...account, apiKey: 'x' }, key, body), 401)
      expectError(await postKeyed(service, { ...account, ...revoked }, key, body), 401)
      expectError(await postKeyed(service, { ...account, ...reader }, key, body), 403)
      expectError(await postKeyed(service, account, key, { ...body, more: 1 }), 400, /^more: /)
      expectError(await postKeyed(service, account, key, '{'), 400)
      expectError(await postKeyed(service, account, key, { ...body, flowId: absentId }), 400, /^flowId: /)
      const { channelId } = stranger
      expectError(await postKeyed(service, { ...account, channelId }, key, body), 404, 'Channel not found')
      expectError(await postKeyedInBody(service, { ...account, channelId }, key, body), 404)
      expectError(await postKeyed(service, { ...account, channelId: absentId }, key, body), 404)
      expectReplay(await postKeyed(service, account, key, sameBody()), requestId)
    },
  )

  test('a body that does not fit the template as it is now is a 400', async () => {
    const { db } = service.runtime
    const greeting = { channelId: account.channelId, name: 'greeting' }
    const body = { ...sameBody(), message: { type: 'template', template: { name: 'greeting' } } }
    const key = newKey()
    expectAccepted(await postKeyed(service, account, key, body))
    await setTemplate(db, { ...greeting, definition: { text: 'Dear {{name}}' } })
    expectError(await postKeyed(service, account, key, body), 400, /name is missing/)
  })

  test('a refused request keeps no key', async () => {
    const key = newKey()
    expectError(await postKeyed(service, account, key, sameBody('')), 400)
    expectError(await postKeyed(service, { ...account, channelId: absentId }, key, sameBody()), 404)
    expectAccepted(await postKeyed(service, account, key, sameBody('other')))
  })
})

describe('the rate limit', () => {
  test('is in the headers of a replay, which uses up nothing of it', async () => {
    const limited = await buildAccount(service, { rateLimit: { points: 5, seconds: 60 } })
    const key = newKey()
    const requestId = expectAccepted(await postKeyed(service, limited, key, sameBody()))
    for (let i = 0; i < 10; i++) {
      const answer = await postKeyed(service, limited, key, sameBody())
      expectReplay(answer, requestId)
      expect(answer.headers.get('RateLimit-Policy')).toBe('"default";q=5;w=60')
      expect(answer.headers.get('RateLimit')).toMatch(/^"default";r=4;t=(60|59|58)$/)
      expect(answer.headers.get('Retry-After')).toBeNull()
    }
    const { headers } = await post(service, limited, sameBody())
    expect(headers.get('RateLimit')).toMatch(/;r=3;/)
  })

  test('refuses no replay when it is exhausted, and no 422 either', async () => {
    const limited = await buildAccount(service, { rateLimit: { points: 1, seconds: 60 } })
    const key = newKey()
    const requestId = expectAccepted(await postKeyed(service, limited, key, sameBody()))
    expectError(await postKeyed(service, limited, newKey(), sameBody()), 429)
    for (let i = 0; i < 3; i++) {
      const answer = await postKeyed(service, limited, key, sameBody())
      expectReplay(answer, requestId)
      expect(answer.headers.get('RateLimit')).toMatch(/^"default";r=0;/)
      expectError(await postKeyed(service, limited, key, sameBody('other')), 422)
    }
    expectError(await postKeyed(service, limited, newKey(), sameBody()), 429)
  })

  test('is not used up by a 422', async () => {
    const key = newKey()
    expectAccepted(await postKeyed(service, account, key, sameBody()))
    expectError(await postKeyed(service, account, key, sameBody('other')), 422)
    expect(await pointsUsed(service, account)).toBe(1)
  })

  test('keeps no key of a request that it refuses: its retry is accepted', async () => {
    const limited = await buildAccount(service, { rateLimit: { points: 1, seconds: 1 } })
    const key = newKey()
    const first = expectAccepted(await post(service, limited, sameBody()))
    expectError(await postKeyed(service, limited, key, sameBody()), 429)
    expect(await keptOf(service, limited, key)).toBeUndefined()
    await sleep(1000)
    const requestId = expectAccepted(await postKeyed(service, limited, key, sameBody()))
    expectReplay(await postKeyed(service, limited, key, sameBody()), requestId)
    expect((await sendsOf(service, limited)).map((send) => send.requestId)).toEqual([first, requestId])
  })

  test('refuses no replay without Redis, and the replay uses up nothing of it', async () => {
    const key = newKey()
    const requestId = expectAccepted(await postKeyed(service, account, key, sameBody()))
    const REDIS_URL = `redis://127.0.0.1:${await closedPort()}`
    const away = await startTestService({ REDIS_URL, RATE_LIMIT_POINTS: '1' }, service.stores)
    onTestFinished(() => away.stop())
    for (let i = 0; i < 3; i++) {
      expectReplay(await soon(() => postKeyed(away, account, key, sameBody())), requestId)
    }
    expectAccepted(await soon(() => postKeyed(away, account, newKey(), sameBody())))
    expectError(await postKeyed(away, account, newKey(), sameBody()), 429)
    expectReplay(await soon(() => postKeyed(away, account, key, sameBody())), requestId)
  })
})

describe('without PostgreSQL', () => {
  test('a send with a key is a 503 in time', async () => {
    const silent = await startSilentServer()
    onTestFinished(() => silent.close())
    for (const port of [await closedPort(), silent.port]) {
      const at = await startTestService({ DATABASE_URL: `postgres://u:p@127.0.0.1:${port}/x` })
      onTestFinished(() => at.stop())
      expectUnavailable(await soon(() => postKeyed(at, account, newKey(), sameBody())))
    }
  })

  test('that freezes before the key is looked up, new ones and replays are 503s in time and keep nothing', async () => {
    const database = await startTcpProxy(service.stores.databaseUrl)
    const at = await startTestService({ DATABASE_URL: database.url }, service.stores)
    onTestFinished(() => at.stop().then(() => database.close()))
    const [old, fresh] = [newKey(), newKey()]
    const requestId = expectAccepted(await postKeyed(at, account, old, sameBody()))
    database.freeze()
    const [ofOld, ofFresh] = await Promise.all([
      soon(() => postKeyed(at, account, old, sameBody())),
      soon(() => postKeyed(at, account, fresh, sameBody())),
    ])
    database.thaw()
    expectUnavailable(ofOld)
    expectUnavailable(ofFresh)
    expect(await keptOf(service, account, fresh)).toBeUndefined()
    expectReplay(await postKeyed(at, account, old, sameBody()), requestId)
    expectAccepted(await postKeyed(at, account, fresh, sameBody('other')))
  })

  const document = { mediaType: 'document', base64: 'QUJD' }
  test.each([
    ['text', sameBody()],
    ['media', { ...sameBody(), message: { type: 'media', media: document } }],
  ])('to record it, a 503 keeps no key: the retry of %s is accepted', async (_what, body) => {
    const key = newKey()
    const hold = await holdInserts(service)
    const refused = await soon(() => postKeyed(service, account, key, body))
    await hold.release()
    expectUnavailable(refused)
    await sleep(300)
    expect(await keptOf(service, account, key)).toBeUndefined()
    expect(await sendsOf(service, account)).toEqual([])
    const requestId = expectAccepted(await postKeyed(service, account, key, body))
    expectReplay(await postKeyed(service, account, key, body), requestId)
    expect(await sendsOf(service, account)).toHaveLength(1)
  })
})
