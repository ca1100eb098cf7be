import { afterAll, beforeAll, expect, test } from 'vitest'
import { listConversations } from '../../../db/delivery/conversations.ts'
import { startReaper } from '../../../src/dev/embedded/index.ts'
import { startService } from '../../../src/dev/service-process.ts'
import { attemptedSend, lapse, received, rowOf, sweepOnce } from '../../support/attempts.ts'
import { type Account, accept, buildAccount, newContact, textBody } from '../../support/builders.ts'
import { finishedTimeline, startTestService, type TestService, testSecrets } from '../../support/service.ts'
import { waitingForLocks } from '../../support/stores.ts'
import { eventually } from '../../support/wait.ts'

let service: TestService
let account: Account

beforeAll(async () => {
  service = await startTestService()
  account = await buildAccount(service)
})
afterAll(() => service.stop())

const closing = (contact: string) => ({ ...textBody('Hi', contact), closeConversation: true })
const conversationsWith = (contact: string) =>
  listConversations(service.runtime.db, account.accountId, { type: 'phone', value: contact })

/** A contact with an open conversation, which is locked until it is let go. */
async function lockedConversation() {
  const contact = newContact()
  await attemptedSend(service, account, { outcome: 'sent' }, textBody('First', contact))
  const client = await service.runtime.db.$client.connect()
  await client.query('begin')
  await client.query('select from conversations where contact_value = $1 for update', [contact])
  const letGo = async () => {
    await client.query('rollback')
    client.release()
  }
  return { contact, letGo }
}

const waitingBackends = async () => (await service.runtime.db.$client.query(waitingForLocks)).rows
const waiting = (count: number) =>
  eventually(`${count} waiting for the lock`, async () => (await waitingBackends()).length === count)

async function startWorkerProcess() {
  const reaper = startReaper()
  const environment = {
    ...testSecrets,
    DATABASE_URL: service.stores.databaseUrl,
    REDIS_URL: service.stores.redisUrl,
    METRICS_PORT: '0',
  }
  const worker = await startService({ entry: 'workers/main.ts', readyEvent: 'working', environment, reaper })
  return { worker, reaper }
}

test('a send whose worker process was killed while it waited to close the conversation is sent by the next worker, once, and closes it once', async () => {
  const { contact, letGo } = await lockedConversation()
  const { worker, reaper } = await startWorkerProcess()
  const requestId = await accept(service, account, closing(contact))
  await waiting(1)
  worker.child.kill('SIGKILL')
  for (const { pid } of await waitingBackends()) {
    await service.runtime.db.$client.query('select pg_terminate_backend($1)', [pid])
  }
  await letGo()
  await waiting(0)
  const dead = (await rowOf(service, requestId)).worker ?? ''
  await lapse(service, dead)
  await sweepOnce(service)
  const reason = `worker ${dead} was lost before it called the provider`
  expect(await rowOf(service, requestId)).toMatchObject({ status: 'queued', attempt: 0, losses: 1 })
  const next = await service.startWorker('next')
  const timeline = await finishedTimeline(service, requestId, account.apiKey)
  await next.stop()
  await reaper.close()

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
  expect(await conversationsWith(contact)).toMatchObject([
    { closedBy: requestId },
    { conversationId: timeline.conversationId, closedAt: null },
  ])
  const logged = service.logsOf(requestId).filter(({ event }) => event === 'attempt_lost')
  expect(logged).toMatchObject([{ attempt: 1, outcome: 'not_called', reason }])
}, 90_000)
