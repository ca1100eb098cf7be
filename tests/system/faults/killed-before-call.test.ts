import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { startReaper } from '../../../src/dev/embedded/index.ts'
import { startService } from '../../../src/dev/service-process.ts'
import { lapse, received, rowOf, sweepOnce } from '../../support/attempts.ts'
import { type Account, accept, buildAccount } from '../../support/builders.ts'
import {
  closingBody,
  conversationsWith,
  lockedConversation,
  untilWaiting,
  waitingBackends,
} from '../../support/conversations.ts'
import { finishedTimeline, startTestService, type TestService, testSecrets } from '../../support/service.ts'

let service: TestService
let account: Account

beforeAll(async () => {
  service = await startTestService()
  account = await buildAccount(service)
})
afterAll(() => service.stop())

async function startWorkerProcess() {
  const reaper = startReaper()
  onTestFinished(() => reaper.close())
  const environment = {
    ...testSecrets,
    DATABASE_URL: service.stores.databaseUrl,
    REDIS_URL: service.stores.redisUrl,
    METRICS_PORT: '0',
  }
  return startService({ entry: 'workers/main.ts', readyEvent: 'working', environment, reaper })
}

test('a send whose worker process was killed while it waited to close the conversation is sent by the next worker, once, and closes it once', async () => {
  const { contact, unlock } = await lockedConversation(service, account)
  const worker = await startWorkerProcess()
  const requestId = await accept(service, account, closingBody(contact))
  await untilWaiting(service, 1)
  worker.child.kill('SIGKILL')
  for (const { pid } of await waitingBackends(service)) {
    await service.runtime.db.$client.query('select pg_terminate_backend($1)', [pid])
  }
  await unlock()
  await untilWaiting(service, 0)
  const dead = (await rowOf(service, requestId)).worker ?? ''
  await lapse(service, dead)
  await sweepOnce(service)
  const reason = `worker ${dead} was lost before it called the provider`
  expect(await rowOf(service, requestId)).toMatchObject({ status: 'queued', attempt: 0, losses: 1 })
  const next = await service.startWorker('next')
  const timeline = await finishedTimeline(service, requestId, account.apiKey)
  await next.stop()

  expect(timeline).toMatchObject({ status: 'sent', attempts: 1 })
  expect(timeline.events).toMatchObject([
    { event: 'accepted' },
    { event: 'attempt_started', attempt: 1, worker: dead },
    { event: 'attempt_lost', attempt: 1, outcome: 'not_called', reason },
    { event: 'retry_scheduled', reason, nextAttemptAt: expect.any(String) },
    { event: 'conversation_closed', conversationId: expect.any(String) },
    { event: 'attempt_started', attempt: 1, worker: 'next' },
    { event: 'attempt_finished', outcome: 'sent' },
    { event: 'sent' },
  ])
  expect(await received(service, requestId)).toHaveLength(1)
  expect(await conversationsWith(service, account, contact)).toMatchObject([
    { closedBy: requestId },
    { conversationId: timeline.conversationId, closedAt: null },
  ])
  const logged = service.logsOf(requestId).filter(({ event }) => event === 'attempt_lost')
  expect(logged).toMatchObject([{ attempt: 1, outcome: 'not_called', reason }])
})
