import { afterEach, beforeEach, expect, test } from 'vitest'
import { createPermits } from '../../workers/sends/claim/permits.ts'
import { startReconciler } from '../../workers/upkeep/reconcile.ts'
import { workerTimes } from '../../workers/worker-times.ts'
import { type Account, accept, buildAccount, buildChannel, textBody } from '../support/builders.ts'
import { wakeUpOf } from '../support/queue.ts'
import { finishedTimeline, soonReconciled, startTestService, type TestService } from '../support/service.ts'
import { eventually } from '../support/wait.ts'

let service: TestService
let account: Account

beforeEach(async () => {
  service = await startTestService()
  account = await buildAccount(service)
})
afterEach(() => service.stop())

test('a send that was accepted while Redis was away is delivered once a worker finds it', async () => {
  const away = await startTestService({ REDIS_URL: 'redis://127.0.0.1:1' }, service.stores)
  const requestId = await accept(away, account, textBody())
  await away.stop()
  expect(away.logsOf(requestId).map(({ event }) => event)).toEqual(['accepted', 'enqueue_failed'])
  expect(await wakeUpOf(service, requestId)).toBeUndefined()
  await service.startWorker('test-worker', { times: soonReconciled })
  expect((await finishedTimeline(service, requestId, account.apiKey)).status).toBe('sent')
})

test('after a fault of Redis the next pass comes soon', async () => {
  const { runtime } = service
  const requestId = await accept(service, account, textBody())
  await runtime.redis.flushdb()
  await runtime.redis.set(runtime.queue.toKey('delayed'), 'no sorted set')
  const times = { ...workerTimes, reconcileEveryMs: 3_600_000, overdueByMs: 0 }
  const reconciler = startReconciler(runtime, createPermits(runtime), undefined, times)
  await eventually('a pass has failed', async () =>
    service.logs.some(({ event }) => event === 'reconcile_failed'),
  )
  await runtime.redis.del(runtime.queue.toKey('delayed'))
  await eventually('its wake-up', () => wakeUpOf(service, requestId))
  await reconciler.stop()
})

test('wake-ups that Redis lost are added again, for sends that wait for a retry too', async () => {
  const requestIds = await Promise.all(Array.from({ length: 30 }, () => accept(service, account, textBody())))
  const retried = await accept(service, account, textBody('Hi', '+15550100104'))
  const worker = await service.startWorker('test-worker', { times: soonReconciled })
  await eventually('the retry is scheduled', async () =>
    service.logsOf(retried).some(({ event }) => event === 'retry_scheduled'),
  )
  await worker.stop()
  await service.runtime.redis.flushdb()
  requestIds.push(await accept(service, account, textBody()))
  await service.runtime.redis.flushdb()
  await service.startWorker('test-worker', { times: soonReconciled })
  for (const requestId of [...requestIds, retried]) {
    expect((await finishedTimeline(service, requestId, account.apiKey)).status).toBe('sent')
  }
})

test('a backlog longer than a page gets its wake-ups back whole, one each, from two workers at a time', async () => {
  const { db } = service.runtime
  const first = await accept(service, account, textBody())
  const { rows } = await db.$client.query<{ id: string }>(
    `insert into sends (request_id, account_id, channel_id, contact_type, contact_value, message_type, message,
                        close_conversation, next_attempt_at)
     select gen_random_uuid(), account_id, channel_id, contact_type, contact_value || n, message_type, message, false,
            now() - interval '1 minute'
     from sends, generate_series(1, 2500) n where request_id = $1
     returning request_id as id`,
    [first],
  )
  const onePass = () => startReconciler(service.runtime, createPermits(service.runtime)).stop()
  await Promise.all([onePass(), onePass()])
  const wakeUps = await service.runtime.queue.getJobs(['waiting'])
  expect(wakeUps.map(({ id }) => id).sort()).toEqual([first, ...rows.map(({ id }) => id)].sort())
})

test('sends without a wake-up are found beside and behind more sends than a pass reads', async () => {
  const { db } = service.runtime
  const channelId = await buildChannel(service, account.accountId)
  const [beside, behind] = [
    await accept(service, account, textBody()),
    await accept(service, { ...account, channelId }, textBody()),
  ]
  await db.$client.query(
    `with head as (select * from sends where request_id = $1),
     lane as (
       insert into sends (request_id, account_id, channel_id, contact_type, contact_value, message_type, message,
                          close_conversation, lane, next_attempt_at)
       select gen_random_uuid(), account_id, channel_id, contact_type, 'x', message_type, message, false, 1,
              case when n > 1 then now() - interval '1 minute' else 'infinity' end
       from head, generate_series(1, 12000) n)
     update sends set next_attempt_at = now() - interval '10 s'`,
    [behind],
  )
  await service.runtime.redis.flushdb()
  await service.startWorker('test-worker', { times: soonReconciled })
  for (const requestId of [beside, behind]) {
    expect((await finishedTimeline(service, requestId, account.apiKey)).status).toBe('sent')
  }
})

test('a due send is woken although its wake-up is scheduled for much later, as after a replay', async () => {
  const requestId = await accept(service, account, textBody())
  const job = await wakeUpOf(service, requestId)
  await job?.remove()
  await service.runtime.queue.add('send', { requestId }, { jobId: requestId, delay: 3_600_000 })
  await service.startWorker('test-worker', { times: soonReconciled })
  expect((await finishedTimeline(service, requestId, account.apiKey)).status).toBe('sent')
})
