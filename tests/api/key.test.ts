import { describe, expect, test } from 'vitest'
import { permissions } from '../../src/core/accounts/api-key.ts'
import { ask } from '../support/account-routes.ts'
import { buildAccount, buildKey } from '../support/builders.ts'
import { expectError } from '../support/expect-error.ts'
import { serviceOfFile } from '../support/service.ts'

const service = await serviceOfFile()
const owner = await buildAccount(service, { rateLimit: { points: 7, seconds: 3 } })
const read = (by: { apiKey: string }) => ask(service, by, 'GET', '/v1/key')

describe('GET /v1/key', () => {
  test('says whose key it is, what it may do, until when, and the limit of its account', async () => {
    const expiresAt = new Date(Date.now() + 3_600_000)
    const key = await buildKey(service, owner.accountId, { permissions: ['messages:read'], expiresAt })
    const { status, headers, body } = await read(key)
    expect(status).toBe(200)
    expect(body).toStrictEqual({
      requestId: headers.get('X-Request-Id'),
      accountId: owner.accountId,
      accountName: 'Test',
      keyId: key.keyId,
      permissions: ['messages:read'],
      expiresAt: expect.any(String),
      rateLimit: { points: 7, seconds: 3 },
    })
    expect(Math.abs(Date.parse(body.expiresAt) - expiresAt.getTime())).toBeLessThan(10_000)
  })

  test("has null for a key that doesn't expire, and the service's limit for an account without one", async () => {
    const { RATE_LIMIT_POINTS: points, RATE_LIMIT_WINDOW_SECONDS: seconds } = service.runtime.settings
    const { body } = await read(await buildAccount(service))
    expect(body).toMatchObject({ expiresAt: null, rateLimit: { points, seconds } })
  })

  test.each(permissions)('answers a key that has only %s', async (permission) => {
    const key = await buildKey(service, owner.accountId, { permissions: [permission] })
    expect((await read(key)).body.permissions).toEqual([permission])
  })

  test('refuses a key without permissions, and a revoked one', async () => {
    expectError(await read(await buildKey(service, owner.accountId, { permissions: [] })), 403)
    expectError(await read(await buildKey(service, owner.accountId, { revoked: true })), 401)
  })
})
