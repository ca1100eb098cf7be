import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { revokeApiKey } from '../../../db/accounts/api-keys.ts'
import { connectDatabase, type Database } from '../../../db/connection/client.ts'
import { type Reaper, startReaper } from '../../../src/dev/embedded/index.ts'
import { type ServiceProcess, startService } from '../../../src/dev/service-process.ts'
import { type Account, buildAccount, buildKey, type Registry, textBody } from '../../support/builders.ts'
import { testSecrets, withTimeouts } from '../../support/service.ts'
import { expectSooner, timed } from '../../support/standstill.ts'
import { freshStores } from '../../support/stores.ts'
import { startTcpProxy, type TcpProxy } from '../../support/tcp-proxy.ts'
import { eventually } from '../../support/wait.ts'

const processes = 4
const limit = { points: 10, seconds: 60 }

let reaper: Reaper
let redis: TcpProxy
let db: Database
let registry: Registry
let apis: ServiceProcess[]

beforeAll(async () => {
  reaper = startReaper()
  const { databaseUrl, redisUrl } = await freshStores()
  redis = await startTcpProxy(redisUrl)
  const environment = {
    ...testSecrets,
    DATABASE_URL: databaseUrl,
    DATABASE_POOL_SIZE: '4',
    // Otherwise, on a busy machine, Redis would count as hanging, and each process would count by itself.
    REDIS_URL: withTimeouts(redis.url),
    HOST: '127.0.0.1',
    PORT: '0',
    METRICS_PORT: '0',
    AUTH_FAILURE_LIMIT: '20',
    // So that a test can have an address of its own.
    TRUST_PROXY: '127.0.0.0/8',
  }
  db = connectDatabase(databaseUrl, { poolSize: 1, queryTimeoutMs: 5000, onConnectionLost: () => {} })
  const { API_KEY_PEPPER, CREDENTIALS_KEY } = testSecrets
  registry = {
    runtime: { db, settings: { API_KEY_PEPPER, CREDENTIALS_KEY: Buffer.from(CREDENTIALS_KEY, 'base64') } },
  }
  const options = { entry: 'src/server.ts', readyEvent: 'listening', environment, reaper }
  apis = await Promise.all(Array.from({ length: processes }, () => startService(options)))
})

afterAll(async () => {
  await Promise.all((apis ?? []).map((api) => api.stop()))
  await db?.$client.end()
  await redis?.close()
  await reaper?.close()
})

type Sender = Pick<Account, 'apiKey' | 'channelId'> & { from?: string }

async function sendBy(api: ServiceProcess, { apiKey, channelId, from = '203.0.113.1' }: Sender) {
  const headers = { Authorization: `Bearer ${apiKey}`, 'X-Forwarded-For': from }
  const response = await fetch(`http://127.0.0.1:${api.ready.port}/v1/channels/${channelId}/messages`, {
    method: 'POST',
    headers: { ...headers, 'Content-Type': 'application/json' },
    body: JSON.stringify(textBody()),
  })
  await response.arrayBuffer()
  return { status: response.status, remaining: response.headers.get('RateLimit')?.split(';')[1] }
}

/** At once, `times` to each process. */
async function throughAll(sender: Sender, times = 1) {
  return await Promise.all(Array.from({ length: times }, () => apis.map((api) => sendBy(api, sender))).flat())
}

const allCountInRedis = () =>
  eventually('all count in Redis', async () => {
    const account = await buildAccount(registry, { rateLimit: { points: 1000, seconds: 60 } })
    const left = (await throughAll(account)).map(({ remaining }) => remaining)
    return new Set(left).size === processes
  })

/** Again, where the machine was too busy for PostgreSQL to answer in time: such a burst says nothing of limits. */
async function burst<T extends { answers: { status: number }[] }>(
  send: () => Promise<T>,
  ready: () => Promise<unknown> = allCountInRedis,
): Promise<T> {
  return await eventually('a burst without a 503', async () => {
    await ready()
    const sent = await send()
    return count(sent.answers, 503) === 0 && sent
  })
}

const count = (answers: { status: number }[], status: number) =>
  answers.filter((answer) => answer.status === status).length

test('of a hundred requests at once over four processes exactly the limit of 10 passes', async () => {
  const { account, answers } = await burst(async () => {
    const sender = await buildAccount(registry, { rateLimit: limit })
    return { account: sender, answers: await throughAll(sender, 25) }
  })
  expect([count(answers, 202), count(answers, 429)]).toEqual([10, 90])
  const { rows } = await db.$client.query('select 1 from sends where account_id = $1', [account.accountId])
  expect(rows).toHaveLength(10)
})

test('a key that is revoked while four processes use it is refused by each within 5 s', async () => {
  const account = await buildAccount(registry)
  const { apiKey, keyId } = await buildKey(registry, account.accountId)
  const through = async () => ({ answers: await throughAll({ ...account, apiKey }) })
  expect(count((await burst(through)).answers, 202)).toBe(processes)
  await revokeApiKey(db, keyId)
  const refused = await timed(async () => ({
    byAll: await eventually('all refuse it', async () => {
      await sleep(100)
      return count((await through()).answers, 401) === processes
    }),
  }))
  expectSooner(refused, 5000)
})

test('faulty keys of one address are counted over four processes, and a good key from there still passes', async () => {
  let addresses = 1
  const { account, answers } = await burst(async () => {
    const sender = { ...(await buildAccount(registry)), from: `198.51.100.${addresses++}` }
    return { account: sender, answers: await throughAll({ ...sender, apiKey: 'x' }, 10) }
  })
  expect([count(answers, 401), count(answers, 429)]).toEqual([20, 20])
  const good = await burst(async () => ({ answers: await throughAll(account) }))
  expect(count(good.answers, 202)).toBe(processes)
})

test('while Redis is away each process holds the limit for itself', async () => {
  await redis.close()
  const { answers } = await burst(
    async () => ({ answers: await throughAll(await buildAccount(registry, { rateLimit: limit }), 25) }),
    async () => {},
  )
  expect([count(answers, 202), count(answers, 429)]).toEqual([4 * 10, 100 - 4 * 10])
})
