import { randomUUID } from 'node:crypto'
import { inArray } from 'drizzle-orm'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { media, sends } from '../../../db/schema.ts'
import { absentId } from '../../support/absent-id.ts'
import type { Answer } from '../../support/answer.ts'
import {
  type Account,
  accept,
  buildAccount,
  buildKey,
  post,
  request,
  textBody,
} from '../../support/builders.ts'
import { expectError, holdings, inTime } from '../../support/expect-error.ts'
import { longestAnswerMs } from '../../support/longest-answer.ts'
import { wakeUpOf } from '../../support/queue.ts'
import { redisReady } from '../../support/redis-ready.ts'
import { startTestService, type TestService, withTimeouts } from '../../support/service.ts'
import { expectSooner, type Span, StoodStill, timed } from '../../support/standstill.ts'
import { freshStores } from '../../support/stores.ts'
import { closedPort, startSilentServer, startTcpProxy, type TcpProxy } from '../../support/tcp-proxy.ts'
import { eventually } from '../../support/wait.ts'

/** A service with working stores: builds accounts, and reads what was recorded. */
let healthy: TestService
let account: Account

beforeAll(async () => {
  healthy = await startTestService({}, await freshStores())
  account = await buildAccount(healthy)
})
afterAll(() => healthy.stop())

const mediaBody = {
  contact: { value: '+4915112345678' },
  message: { type: 'media', media: { mediaType: 'document', base64: 'QUJD' } },
}

async function startedFor(settings: Record<string, string>): Promise<TestService> {
  const started = await startTestService(settings, healthy.stores)
  onTestFinished(() => started.stop())
  return started
}

async function proxied(store: 'databaseUrl' | 'redisUrl'): Promise<TcpProxy> {
  const proxy = await startTcpProxy(healthy.stores[store])
  onTestFinished(() => proxy.close())
  return proxy
}

function expectUnavailable(answer: Answer & Span) {
  // A request that came late waited for less of the time than it should have.
  if (answer.status === 202 && answer.stoodStillMs > 0) throw new StoodStill('a request came late')
  expectError(answer, 503)
  expect(answer.headers.get('Retry-After')).toMatch(/^[1-9][0-9]*$/)
  expectSooner(answer, longestAnswerMs)
}

function read(at: TestService, requestId = absentId) {
  return request(at, `/v1/messages/${requestId}`, { headers: { Authorization: `Bearer ${account.apiKey}` } })
}

/** Which of the answers' sends PostgreSQL holds. */
async function recordedOf(answers: Answer[]): Promise<Set<string>> {
  const ids = answers.map(({ body }) => body.requestId as string)
  const { db } = healthy.runtime
  const rows = await db.select().from(sends).where(inArray(sends.requestId, ids))
  const contents = await db.select().from(media).where(inArray(media.requestId, ids))
  return new Set([...rows, ...contents].map(({ requestId }) => requestId))
}

async function enqueuedOf(answers: Answer[]): Promise<Set<string>> {
  const ids = answers.map(({ body }) => body.requestId as string)
  const jobs = await Promise.all(ids.map((id) => wakeUpOf(healthy, id)))
  return new Set(ids.filter((_, index) => jobs[index]))
}

describe.each<[string, () => Promise<number>]>([
  ['no server listens', closedPort],
  [
    'connections are taken and nothing is ever said',
    async () => {
      const silent = await startSilentServer()
      onTestFinished(() => silent.close())
      return silent.port
    },
  ],
])('where PostgreSQL should be, %s', (_what, port) => {
  const startWithout = async () =>
    await startedFor({ DATABASE_URL: `postgres://u:p@127.0.0.1:${await port()}/x` })

  test('a send is a 503 in time, with Retry-After and without internals', async () => {
    const at = await startWithout()
    const answers = await Promise.all([
      timed(() => post(at, account, textBody())),
      timed(() => post(at, account, mediaBody)),
      timed(() => read(at)),
    ])
    for (const answer of answers) {
      expectUnavailable(answer)
      expect(answer.body.message).not.toMatch(/postgres|ECONN|timeout|127\.0\.0\.1/i)
    }
  })

  test('so are fifty at once, and nothing enters the queue', async () => {
    const at = await startWithout()
    const before = await holdings(healthy)
    const answers = await Promise.all(
      Array.from({ length: 50 }, () => timed(() => post(at, account, textBody()))),
    )
    for (const answer of answers) expectUnavailable(answer)
    expect(await holdings(healthy)).toEqual(before)
  })

  test('each is one log line', async () => {
    const at = await startWithout()
    const { body } = await post(at, account, textBody('a secret'))
    const events = at.logsOf(body.requestId).map(({ event }) => event)
    expect(events.filter((event) => event === 'rejected')).toHaveLength(1)
    expect(events).not.toContain('crashed')
    expect(JSON.stringify(at.logs)).not.toContain('a secret')
  })
})

/**
 * A service whose stores can be frozen; warm: of PostgreSQL only the insert is still needed, for a while.
 *
 * @param redisUrlOf `withTimeouts` where only PostgreSQL is to be slow.
 */
async function freezable(finished: typeof onTestFinished, redisUrlOf = (url: string) => url) {
  const database = await startTcpProxy(healthy.stores.databaseUrl)
  const redis = await startTcpProxy(healthy.stores.redisUrl)
  const name = randomUUID()
  const settings = {
    DATABASE_URL: `${database.url}?application_name=${name}`,
    REDIS_URL: redisUrlOf(redis.url),
  }
  const at = await startTestService(settings, healthy.stores)
  finished(async () => {
    await at.stop()
    await Promise.all([database.close(), redis.close()])
  })
  await redisReady(at)
  await accept(at, account, textBody())
  /** Ends the service; what PostgreSQL was asked for by then has come to its end. */
  const settled = async () => {
    await at.stop()
    await eventually('the ends of its connections', async () => {
      const asked = 'select from pg_stat_activity where application_name = $1'
      return (await healthy.runtime.db.$client.query(asked, [name])).rowCount === 0
    })
  }
  return { at, database, redis, settled }
}

async function expectTaken(at: TestService): Promise<Answer> {
  const answer = await post(at, account, textBody())
  inTime([answer])
  expect(answer.status).toBe(202)
  return answer
}

function crowd(at: TestService) {
  return [
    ...Array.from({ length: 10 }, (_, i) => timed(() => post(at, account, textBody(`n ${i}`)))),
    timed(() => post(at, account, mediaBody)),
    timed(() => post(at, account, mediaBody)),
  ]
}

describe.concurrent('a PostgreSQL that freezes', () => {
  test('is a 503 in time, and once PostgreSQL continues the next send is accepted', async ({
    onTestFinished,
  }) => {
    const { at, database, settled } = await freezable(onTestFinished, withTimeouts)
    database.freeze()
    const answers = await Promise.all([...crowd(at), timed(() => read(at))])
    database.thaw()
    for (const answer of answers) expectUnavailable(answer)
    await expectTaken(at)
    await settled()
    expect(await recordedOf(answers)).toEqual(new Set())
  })

  test.for([400, 900, 1000, 1100, 1250])(
    'and continues after %i ms: each send answered 202 is recorded and enqueued, none answered 503 is',
    async (frozenMs, { onTestFinished }) => {
      const { at, database, settled } = await freezable(onTestFinished, withTimeouts)
      database.freeze()
      setTimeout(database.thaw, frozenMs)
      const answers = await Promise.all(crowd(at))
      const accepted = answers.filter(({ status }) => status === 202)
      for (const answer of answers) if (!accepted.includes(answer)) expectUnavailable(answer)
      for (const answer of answers) expectSooner(answer, longestAnswerMs)
      if (frozenMs <= 400) inTime(answers)
      if (frozenMs >= 1250) for (const answer of answers) expectUnavailable(answer)
      const ids = new Set(accepted.map(({ body }) => body.requestId as string))
      await eventually('their wake-ups', async () => (await enqueuedOf(accepted)).size === ids.size)
      await settled()
      expect(await recordedOf(answers)).toEqual(ids)
      expect(await enqueuedOf(answers)).toEqual(ids)
    },
  )
})

test('an accept that loses a deadlock is a 503, and recorded once it is repeated', async () => {
  const { $client } = healthy.runtime.db
  await $client.query(`
    create or replace function lose() returns trigger language plpgsql as
      $$ begin raise exception 'deadlock detected' using errcode = '40P01'; end $$;
    create or replace trigger loses before insert on sends for each row when (new.contact_value = '+4915140004001')
      execute function lose()`)
  const letWin = () => $client.query('drop trigger if exists loses on sends')
  onTestFinished(async () => void (await letWin()))
  const send = () => timed(() => post(healthy, account, textBody('Hello', '+4915140004001')))
  expectUnavailable(await send())
  await letWin()
  expect(inTime([await send()])).toMatchObject([{ status: 202 }])
})

test('a stall while the clocks are compared lets no send be recorded after its 503', async () => {
  const { at, database, settled } = await freezable(onTestFinished, withTimeouts)
  const upToTheFlow = async () => inTime([await post(at, account, { ...textBody(), flowId: absentId })])
  expect(await upToTheFlow()).toMatchObject([{ status: 400 }])
  database.stallOnce('extract(epoch from clock_timestamp())', 800)
  await at.api.clock.read()
  expect(await upToTheFlow()).toMatchObject([{ status: 400 }])

  database.freeze()
  setTimeout(database.thaw, 1200)
  const answer = await timed(() => post(at, account, textBody()))
  expectUnavailable(answer)
  await settled()
  expect(await recordedOf([answer])).toEqual(new Set())
})

test('PostgreSQL and Redis that freeze together share one deadline', async () => {
  const { at, database, redis, settled } = await freezable(onTestFinished)
  database.freeze()
  redis.freeze()
  const answer = await timed(() => post(at, account, textBody()))
  database.thaw()
  redis.thaw()
  expectUnavailable(answer)
  await settled()
  expect(await recordedOf([answer])).toEqual(new Set())
})

test('a key that fails is answered in time although PostgreSQL is slow and Redis hangs', async () => {
  const { at, database, redis } = await freezable(onTestFinished)
  const { apiKey } = await buildKey(healthy, account.accountId, { revoked: true })
  database.freeze()
  redis.freeze()
  setTimeout(database.thaw, 1000)
  const answer = await timed(() => post(at, { ...account, apiKey }, textBody()))
  redis.thaw()
  expect([401, 503]).toContain(answer.status)
  expectSooner(answer, longestAnswerMs)
})

test('a service that starts before PostgreSQL and Redis accepts sends once they are up', async () => {
  const database = await proxied('databaseUrl')
  const redis = await proxied('redisUrl')
  database.freeze()
  redis.freeze()
  const at = await startedFor({ DATABASE_URL: database.url, REDIS_URL: redis.url })
  expectUnavailable(await timed(() => post(at, account, textBody())))
  database.thaw()
  redis.thaw()
  const answer = await expectTaken(at)
  expect(await recordedOf([answer])).toEqual(new Set([answer.body.requestId]))
})
