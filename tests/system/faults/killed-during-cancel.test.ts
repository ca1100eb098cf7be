import { setTimeout as sleep } from 'node:timers/promises'
import { inArray } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { sandboxMessages, sends } from '../../../db/schema.ts'
import { startReaper } from '../../../src/dev/embedded/index.ts'
import { startService } from '../../../src/dev/service-process.ts'
import { acceptBatch } from '../../support/batches.ts'
import { buildAccount } from '../../support/builders.ts'
import { cancelAll } from '../../support/later.ts'
import { startTestService, type TestService, testSecrets } from '../../support/service.ts'
import { expectSooner, timed } from '../../support/standstill.ts'
import { eventually } from '../../support/wait.ts'

const reaper = startReaper()
let service: TestService

beforeAll(async () => {
  service = await startTestService()
})
afterAll(async () => {
  await reaper.close()
  await service?.stop()
})

function startWorkerProcess() {
  const environment = {
    ...testSecrets,
    DATABASE_URL: service.stores.databaseUrl,
    REDIS_URL: service.stores.redisUrl,
    METRICS_PORT: '0',
  }
  return startService({ entry: 'workers/main.ts', readyEvent: 'working', environment, reaper })
}

const many = 10_000
const withinMs = 5000

test('10,000 sends are canceled within 5 s while workers that send them are killed, and none that was canceled is called', async () => {
  const account = await buildAccount(service)
  const reference = 'recalled'
  const ids: string[] = []
  const page = Array.from({ length: 500 }, () => ({ ...account, reference }))
  while (ids.length < many) ids.push(...(await acceptBatch(service, page)))
  const workers = await Promise.all([startWorkerProcess(), startWorkerProcess()])
  const { db } = service.runtime
  const called = async () => (await db.select().from(sandboxMessages)).map(({ requestId }) => requestId)
  await eventually('some are sent', async () => (await called()).length > 100)
  const kill = async () => {
    for (const { child } of workers) {
      await sleep(150)
      child.kill('SIGKILL')
    }
  }
  const [answer] = await Promise.all([timed(() => cancelAll(service, account, { reference })), kill()])
  expect(answer).toMatchObject({ status: 200, body: { uncertain: 0, next: null } })
  expectSooner(answer, withinMs)
  const rows = await db.select().from(sends).where(inArray(sends.requestId, ids))
  const canceled = rows.filter(({ status }) => status === 'canceled').map(({ requestId }) => requestId)
  expect(answer.body.canceled).toBe(canceled.length)
  expect(canceled.length).toBeGreaterThan(many / 2)
  const repeated = await cancelAll(service, account, { reference })
  expect(repeated).toMatchObject({ status: 200, body: { canceled: 0, uncertain: 0, next: null } })

  const last = await startWorkerProcess()
  const unfinished = async () =>
    (await db.$client.query('select from sends where finished_at is null limit 1')).rowCount
  await eventually('all others have ended', async () => (await unfinished()) === 0, 60_000)
  await last.stop()
  const calledIds = await called()
  expect(new Set(calledIds).size).toBe(calledIds.length)
  const calledInTheEnd = new Set(calledIds)
  expect(canceled.filter((id) => calledInTheEnd.has(id))).toEqual([])
})
