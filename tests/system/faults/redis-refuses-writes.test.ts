import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { type Reaper, startReaper } from '../../../src/dev/embedded/index.ts'
import { createLogger } from '../../../src/platform/log/logger.ts'
import { queueFaults } from '../../../workers/queue/queue-faults.ts'
import { type BreakableServers, startBreakableServers } from '../../support/breakable-servers.ts'
import { startFollower } from '../../support/follower.ts'
import { soonReconciled } from '../../support/service.ts'
import { startTcpProxy } from '../../support/tcp-proxy.ts'
import { startTraffic } from '../../support/traffic.ts'
import { eventually } from '../../support/wait.ts'
import { answer, gate } from '../../support/webhook-receiver.ts'

let reaper: Reaper
let servers: BreakableServers

beforeAll(async () => {
  reaper = startReaper()
  servers = await startBreakableServers(reaper)
})
afterAll(async () => {
  await servers?.stop()
  await reaper?.close()
})

/** A worker asks at most so often for each of its queues, or waits for it, in a second. */
const maxTries = 30
/** After which what was refused before counts no more. */
const quietMs = 5000
/** Without a pause it would be thousands. */
const watchedForMs = 2000

test.each([
  ['READONLY', ['REPLICAOF', '127.0.0.1', '1'], ['REPLICAOF', 'NO', 'ONE']],
  [
    'NOREPLICAS',
    ['CONFIG', 'SET', 'min-replicas-to-write', '1'],
    ['CONFIG', 'SET', 'min-replicas-to-write', '0'],
  ],
  ['OOM', ['CONFIG', 'SET', 'maxmemory', '1'], ['CONFIG', 'SET', 'maxmemory', '0']],
] as const)(
  'a Redis that answers writes with %s is tried with pauses, logged once, and then used again',
  async (code, [refuse, ...how], [take, ...again]) => {
    const redis = new Redis(servers.redisUrl)
    onTestFinished(async () => {
      await redis.call(take, ...again)
      redis.disconnect()
    })
    const { service, ...traffic } = await startTraffic(
      { onTestFinished },
      { WORKER_CONCURRENCY: '1' },
      { stores: servers },
    )
    const held = gate()
    const ids = await traffic.sendSome(await traffic.buildWebhook(held.behaviour), 3)
    await service.startWorker()
    await eventually('the first is called, while others wait', async () => held.waiting === 1)
    const logged = (name: string) => service.logs.filter(({ event }) => event === name)
    const refusals = async () => {
      const counted = new RegExp(`errorstat_${code}:count=(\\d+)`).exec(await redis.info('errorstats'))
      return Number(counted?.[1] ?? 0)
    }
    await redis.call(refuse, ...how)
    held.open()
    await eventually('it is logged', async () => logged('redis_refuses_writes').length > 0)
    const [refusalsBefore, startedAt] = [await refusals(), performance.now()]
    await eventually('some time has passed', async () => performance.now() - startedAt > watchedForMs)
    const seconds = (performance.now() - startedAt) / 1000
    expect((await refusals()) - refusalsBefore).toBeLessThan(maxTries * seconds)

    await redis.call(take, ...again)
    await traffic.expectSent(ids)
    await eventually('that is logged', async () => logged('redis_takes_writes').length > 0)
    expect(logged('redis_refuses_writes')).toMatchObject([
      { reason: expect.stringMatching(`${code}|UNBLOCKED`) },
    ])
    expect(logged('redis_takes_writes')).toHaveLength(1)
    expect(logged('queue_fault')).toEqual([])
    expect(logged('reconcile_failed').length).toBeLessThanOrEqual(1)
  },
)

test('a Redis that became a replica is left as soon as its address leads to the new master, although its connections stay', async (context) => {
  const successor = await startBreakableServers(reaper)
  context.onTestFinished(() => successor.stop())
  const proxy = await startTcpProxy(servers.redisUrl)
  context.onTestFinished(() => proxy.close())
  const { service, ...traffic } = await startTraffic(
    context,
    { REDIS_URL: proxy.url },
    { stores: { ...servers, redisUrl: proxy.url } },
  )
  const channelId = await traffic.buildWebhook(answer(200))
  // No reconciler: only a wake-up brings it to a send.
  await startFollower(context, service)
  await traffic.expectSent([await traffic.send(channelId)])

  await servers.refuseWrites()
  context.onTestFinished(() => servers.takeWrites())
  proxy.moveTo(successor.redisUrl)
  // Both of them learn it by being refused.
  const learns = await traffic.send(channelId)
  await eventually('a send goes through the new master', async () => {
    const id = await traffic.send(channelId)
    await sleep(500)
    return traffic.receiver.callsOf(id).length > 0
  })
  await service.startWorker('that finds what was refused', { times: soonReconciled })
  await traffic.expectSent([learns])
})

test('a user without the right to write is logged with the right that it needs', () => {
  const lines: object[] = []
  const faults = queueFaults(createLogger('info', { write: (line) => lines.push(JSON.parse(line)) }))
  faults.log(new Error("NOPERM this user has no permissions to run the 'eval' command"))
  expect(lines).toMatchObject([
    {
      event: 'redis_refuses_writes',
      check: expect.stringMatching(/^check the rights of the user in REDIS_URL/),
    },
  ])
})

test('a period of refused writes is one log line, and each wake-up that fails one line with its requestId or endpointId', () => {
  vi.useFakeTimers({ toFake: ['performance'] })
  onTestFinished(() => void vi.useRealTimers())
  const lines: object[] = []
  const faults = queueFaults(createLogger('info', { write: (line) => lines.push(JSON.parse(line)) }))
  const requestId = '01a2008f-5644-7058-8112-8a94d49971f5'
  const endpointId = '01a2008f-3d27-75e8-a2d9-56f1e3d1a0c2'
  for (const _ of ['first', 'second']) {
    faults.log(
      new Error("MISCONF Redis is configured to save RDB snapshots, but it's unable to persist to disk."),
    )
    faults.log(new Error(`could not renew lock for job ${requestId}`))
    faults.log(new Error(`Missing lock for job ${requestId}. moveToFinished`))
    faults.log(new Error('something else'))
    faults.log(new Error(`could not renew lock for job ${endpointId}`), 'endpointId')
  }
  faults.taken()
  vi.advanceTimersByTime(quietMs)
  faults.taken()
  faults.taken()
  expect(lines).toMatchObject([
    { event: 'redis_refuses_writes', reason: expect.stringContaining('MISCONF') },
    { event: 'queue_fault', requestId },
    { event: 'queue_fault', reason: 'something else' },
    { event: 'queue_fault', endpointId },
    { event: 'redis_takes_writes' },
  ])
})
