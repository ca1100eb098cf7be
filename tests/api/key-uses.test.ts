import { expect, test } from 'vitest'
import { listApiKeys, recordKeyUses } from '../../db/accounts/api-keys.ts'
import { type Account, buildAccount, buildKey, post, request, textBody } from '../support/builders.ts'
import { startCli } from '../support/cli.ts'
import { serviceOfFile, startTestService } from '../support/service.ts'
import { eventually } from '../support/wait.ts'

const service = await serviceOfFile()
const { db } = service.runtime

async function lastUse({ accountId, keyId }: Pick<Account, 'accountId' | 'keyId'>): Promise<Date | null> {
  const key = (await listApiKeys(db, accountId)).find((one) => one.keyId === keyId)
  if (!key) throw new Error('no such key')
  return key.lastUsedAt
}

const setLastUse = (keyId: string, ago: string) =>
  db.$client.query('update api_keys set last_used_at = now() - $2::interval where id = $1', [keyId, ago])

test('a key that was used has the time of that, one that was not has none', async () => {
  const account = await buildAccount(service)
  const unused = await buildKey(service, account.accountId)
  const before = Date.now()
  expect((await post(service, account, textBody())).status).toBe(202)
  const usedAt = await eventually('the use', async () => (await lastUse(account)) ?? undefined)
  expect(Math.abs(usedAt.getTime() - before)).toBeLessThan(600_000)
  expect(await lastUse({ ...account, ...unused })).toBeNull()
  const { status, stdout } = await startCli(
    service,
    {},
    'key',
    'list',
    '--account',
    account.accountId,
    '--json',
  ).ended
  expect(status).toBe(0)
  expect(JSON.parse(stdout).keys).toMatchObject([
    { keyId: account.keyId, lastUsedAt: usedAt.toISOString() },
    { keyId: unused.keyId, lastUsedAt: null },
  ])
})

test('a request that is refused is a use, too', async () => {
  const account = await buildAccount(service)
  const headers = { Authorization: `Bearer ${account.apiKey}` }
  expect((await request(service, '/v1/endpoints', { headers })).status).toBe(403)
  await eventually('the use', async () => (await lastUse(account)) !== null)
})

test('a revoked key is not used by being refused', async () => {
  const account = await buildAccount(service)
  const revoked = await buildKey(service, account.accountId, { revoked: true })
  expect((await post(service, { ...account, ...revoked }, textBody())).status).toBe(401)
  expect((await post(service, account, textBody())).status).toBe(202)
  await eventually('the use of the other', async () => (await lastUse(account)) !== null)
  expect(await lastUse({ ...account, ...revoked })).toBeNull()
})

test('is written at most once an hour, by however many processes', async () => {
  const { accountId, keyId } = await buildAccount(service)
  await Promise.all([1, 2, 3].map(() => recordKeyUses(db, [keyId])))
  await setLastUse(keyId, '59 minutes')
  const known = await lastUse({ accountId, keyId })
  await recordKeyUses(db, [keyId])
  expect(await lastUse({ accountId, keyId })).toEqual(known)
  await setLastUse(keyId, '61 minutes')
  await recordKeyUses(db, [keyId])
  expect(await lastUse({ accountId, keyId })).not.toEqual(known)
})

test('no request waits for it, and a use that could not be written is written with a later one', async () => {
  const account = await buildAccount(service)
  const other = await startTestService({}, service.stores)
  const holder = await db.$client.connect()
  try {
    await holder.query('begin')
    await holder.query('select 1 from api_keys where id = $1 for no key update', [account.keyId])
    expect((await post(other, account, textBody())).status).toBe(202)
    const witness = await buildAccount(service)
    expect((await post(other, witness, textBody())).status).toBe(202)
    await eventually('the use of another key', async () => (await lastUse(witness)) !== null)
    expect(await lastUse(account)).toBeNull()
    await holder.query('commit')
    await eventually('the later use', async () => {
      expect((await post(other, account, textBody())).status).toBe(202)
      return (await lastUse(account)) !== null
    })
  } finally {
    holder.release(true)
    await other.stop()
  }
})
