import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { beforeEach, describe, expect, type TestContext, test } from 'vitest'
import { startReaper } from '../../../src/dev/embedded/index.ts'
import { type Account, buildAccount, post, textBody } from '../../support/builders.ts'
import { type ReplicatedPostgres, startReplicatedPostgres } from '../../support/replicated-postgres.ts'
import { startTestService, type TestService } from '../../support/service.ts'
import { expectSooner, spanBetween } from '../../support/standstill.ts'
import { freshRedis } from '../../support/stores.ts'
import { startTcpProxy, type TcpProxy } from '../../support/tcp-proxy.ts'
import { startTraffic } from '../../support/traffic.ts'
import { eventually } from '../../support/wait.ts'
import { accept as acceptCalls } from '../../support/webhook-receiver.ts'

const perSecond = 300
const mostUnderWay = 150
const enough = 300
const awhileMs = 3000
/** docs/how-to/fail-over-postgresql.md */
const acceptsWithinMs = 2000
/** Connections to a frozen server have to be given up first. */
const acceptsAfterFrozenWithinMs = 5000

let servers: ReplicatedPostgres
/** The address of the primary, which moves. */
let address: TcpProxy

// By the test's own hooks, which stop its service first: a worker with calls in flight waits for PostgreSQL to record them.
beforeEach(async ({ onTestFinished }) => {
  const reaper = startReaper()
  onTestFinished(() => reaper.close())
  servers = await startReplicatedPostgres(reaper)
  onTestFinished(() => servers.stop())
  address = await startTcpProxy(servers.primaryUrl)
  onTestFinished(() => address.close())
})

interface Answered {
  status: number
  requestId: string
  at: number
}

/** Posts so many a second, whatever becomes of those before; fewer if a busy machine can't keep up. */
function startLoad(service: TestService, account: Pick<Account, 'apiKey' | 'channelId'>) {
  const answers: Answered[] = []
  const underWay = new Set<Promise<unknown>>()
  const began = performance.now()
  let due = 0
  const timer = setInterval(() => {
    for (; due < ((performance.now() - began) * perSecond) / 1000; due++) {
      if (underWay.size >= mostUnderWay) continue
      const posted = post(service, account, textBody())
        .then(({ status, body: { requestId } }) => answers.push({ status, requestId, at: performance.now() }))
        .finally(() => underWay.delete(posted))
      underWay.add(posted)
    }
  }, 5)
  return {
    answers,
    accepted: () => answers.filter(({ status }) => status === 202),
    async stop() {
      clearInterval(timer)
      await Promise.all(underWay)
    },
  }
}

/** The primary fails under load, the standby becomes the primary, and the address moves to it. */
async function failOver(context: TestContext, breakPrimary: () => void, endOfLoad: () => Promise<void>) {
  const stores = { databaseUrl: address.url, redisUrl: await freshRedis() }
  const { service, account, ...traffic } = await startTraffic(context, {}, { stores })
  const channelId = await traffic.buildWebhook(acceptCalls)
  await service.startWorker()
  const load = startLoad(service, { ...account, channelId })
  await eventually('load', async () => load.accepted().length >= enough)

  breakPrimary()
  await servers.promoteStandby()
  address.moveTo(servers.standbyUrl)
  const movedAt = performance.now()
  const first = await eventually('an accept', async () => load.accepted().find(({ at }) => at > movedAt))
  await endOfLoad()
  await load.stop()
  const accepted = load.accepted().map(({ requestId }) => requestId)
  const ends = await endedOnNewPrimary(accepted)
  return {
    load,
    accepted,
    ends,
    calls: traffic.callsOf(accepted),
    firstAccept: spanBetween(movedAt, first.at),
  }
}

/** Asked directly: an open connection that only reads may still lead to the former primary. */
async function endedOnNewPrimary(accepted: readonly string[]): Promise<string[]> {
  const client = new pg.Client({ connectionString: servers.standbyUrl })
  await client.connect()
  try {
    return await eventually(
      'the end of all',
      async () => {
        const { rows } = await client.query<{ id: string }>(
          'select request_id as id from sends where request_id = any($1) and finished_at is not null',
          [accepted],
        )
        return rows.length === accepted.length && rows.map(({ id }) => id)
      },
      60_000,
    )
  } finally {
    await client.end()
  }
}

type FailedOver = Awaited<ReturnType<typeof failOver>>

/** Each accepted send has ended, by one call, and no answer was an internal error. */
function expectAllKept({ load, accepted, ends, calls }: FailedOver): void {
  const ids = accepted.toSorted()
  expect(ends.sort()).toEqual(ids)
  expect(calls.map(({ headers }) => String(headers['webhook-id'])).sort()).toEqual(ids)
  expect(new Set(load.answers.map(({ status }) => status))).toEqual(new Set([202, 503]))
}

describe('with a synchronous standby', () => {
  test('a killed primary loses no accepted send, and accepts go on within 2 s after the address has moved', async (context) => {
    const failedOver = await failOver(
      context,
      () => servers.killPrimary(),
      () => sleep(awhileMs),
    )
    expectAllKept(failedOver)
    expectSooner(failedOver.firstAccept, acceptsWithinMs)
  })

  test('a frozen primary that comes back neither takes a send nor keeps one from the new primary', async (context) => {
    const failedOver = await failOver(
      context,
      () => servers.freezePrimary(),
      async () => {
        await sleep(awhileMs)
        servers.thawPrimary()
        await sleep(awhileMs)
      },
    )
    expectAllKept(failedOver)
    expectSooner(failedOver.firstAccept, acceptsAfterFrozenWithinMs)
  })
})

test('an API whose address leads to a standby is not ready, says why, and begins once it is promoted', async (context) => {
  address.moveTo(servers.standbyUrl)
  const stores = { databaseUrl: servers.primaryUrl, redisUrl: await freshRedis() }
  const service = await startTestService({ DATABASE_URL: address.url }, stores)
  context.onTestFinished(() => service.stop())
  const account = await buildAccount(service)
  const status = async () => (await post(service, account, textBody())).status
  const readiness = async () => (await fetch(`${service.url}/readyz`)).status

  expect([await status(), await readiness()]).toEqual([503, 503])
  const reasons = service.logs.filter(({ event }) => event === 'unavailable').map(({ reason }) => reason)
  expect(reasons).toContainEqual(expect.stringContaining('PostgreSQL takes no writes'))

  await servers.promoteStandby()
  await eventually('an accept', async () => (await status()) === 202)
  expect(await readiness()).toBe(200)
})
