import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { connectDatabase } from '../../db/connection/client.ts'
import { readShardCounts } from '../../db/delivery/queue-shards.ts'
import { Readiness } from '../../src/platform/health/readiness.ts'
import { ShardsInForce } from '../../src/queue/shards-in-force.ts'
import { startTestService, type TestService } from '../support/service.ts'
import { eventually } from '../support/wait.ts'

const shortMs = 300
/** Longer than the pause of a running process. */
const comparedAgainMs = 6000

async function trial() {
  const service = await startTestService()
  onTestFinished(() => service.stop())
  return {
    service,
    start: (kind: 'api' | 'worker', count: number, previous?: number) =>
      start(service, kind, count, previous),
    inForce: () => readShardCounts(service.runtime.db),
  }
}

/** A process that has this number of shards. */
function start(
  { runtime }: Pick<TestService, 'runtime'>,
  kind: 'api' | 'worker',
  count: number,
  previous?: number,
) {
  const settings = { QUEUE_SHARDS: count, QUEUE_SHARDS_PREVIOUS: previous }
  const inForce = new ShardsInForce({ ...runtime, settings }, { mayChange: kind === 'worker' })
  onTestFinished(() => inForce.stop())
  let began = false
  void inForce.agreed().then(() => {
    began = true
  })
  const readiness = new Readiness(runtime, () => inForce.reasonNotReady())
  return {
    reasonNotReady: () => readiness.reasonNotReady(),
    begins: () => eventually(`${kind} with ${count} begins`, async () => began),
    async waits(reason: string) {
      await eventually('it is not ready', async () =>
        ((await readiness.reasonNotReady()) ?? '').startsWith(reason),
      )
      await sleep(shortMs)
      expect(began).toBe(false)
    },
  }
}

test('the first worker sets the number in force; a process with another one logs it, is not ready and waits', async () => {
  const { service, start, inForce } = await trial()
  await start('api', 3).begins()
  expect(await inForce()).toBeUndefined()
  await start('worker', 3).begins()
  expect(await inForce()).toEqual({ count: 3, previous: null })
  await Promise.all([start('api', 3).begins(), start('worker', 3).begins()])
  const reason = 'QUEUE_SHARDS is 1, but 3 is in force'
  await start('worker', 1).waits(reason)
  await start('api', 1).waits(reason)
  await start('worker', 6, 4).waits('QUEUE_SHARDS is 6, but 3 is in force')
  const logged = service.logs.filter(({ event }) => event === 'queue_shards_differ')
  expect(logged).toHaveLength(3)
  expect(logged[0]?.reason).toContain(reason)
  expect(await inForce()).toEqual({ count: 3, previous: null })
})

test('an API with the new number waits until a worker serves it; until the change ends, both numbers are good', async () => {
  const { start, inForce } = await trial()
  const former = start('worker', 3)
  await former.begins()
  const api = start('api', 6)
  await api.waits('QUEUE_SHARDS is 6, but 3 is in force')
  await start('worker', 6, 3).begins()
  await api.begins()
  expect(await inForce()).toEqual({ count: 6, previous: 3 })
  await Promise.all([start('worker', 3).begins(), start('api', 3).begins()])
  expect(await inForce()).toEqual({ count: 6, previous: 3 })

  await start('worker', 6).begins()
  expect(await inForce()).toEqual({ count: 6, previous: null })
  await start('api', 3).waits('QUEUE_SHARDS is 3, but 6 is in force')
  await start('worker', 6, 3).begins()
  expect(await inForce()).toEqual({ count: 6, previous: null })
  await eventually(
    'one that still runs with the former number',
    async () => (await former.reasonNotReady()) !== undefined,
  )
})

test('a change can be undone in its midst, and the next one begin, without waiting for workers of before', async () => {
  const { start, inForce } = await trial()
  await start('worker', 3).begins()
  await start('worker', 6, 3).begins()
  await start('worker', 3, 6).begins()
  // Running workers don't change it back.
  await sleep(comparedAgainMs)
  expect(await inForce()).toEqual({ count: 3, previous: 6 })
  await start('worker', 4, 3).begins()
  expect(await inForce()).toEqual({ count: 4, previous: 3 })
})

test('without PostgreSQL a process begins with its own number, which a worker records when PostgreSQL is back', async () => {
  const { service, inForce } = await trial()
  const db = connectDatabase('postgres://postgres@127.0.0.1:1/none', {
    poolSize: 1,
    queryTimeoutMs: 500,
    onConnectionLost: () => {},
  })
  onTestFinished(() => db.$client.end())
  await start({ runtime: { ...service.runtime, db } }, 'api', 5).begins()
  const settings = { QUEUE_SHARDS: 7, QUEUE_SHARDS_PREVIOUS: undefined }
  const worker = { log: service.runtime.log, settings, db }
  const shards = new ShardsInForce(worker, { mayChange: true })
  onTestFinished(() => shards.stop())
  await shards.agreed()
  worker.db = service.runtime.db
  await eventually('it is recorded', async () => (await inForce())?.count === 7)
})
