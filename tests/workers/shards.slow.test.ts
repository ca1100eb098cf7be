import { expect, test } from 'vitest'
import { shardOfSend } from '../../src/platform/redis/shard-names.ts'
import { restoreOnShards } from '../../src/queue/shard.ts'
import { insertBatch, manyOf } from '../support/batches.ts'
import { buildAccount, buildChannel } from '../support/builders.ts'
import { expectTheSameOverShards } from '../support/over-shards.ts'
import { startTestService } from '../support/service.ts'
import { freshStores } from '../support/stores.ts'

test('over three shards of one Redis, lanes keep their order, limits are exact, and board and metrics show each', async (context) => {
  const settings = { ALLOWED_PRIVATE_NETWORKS: '127.0.0.0/8', QUEUE_SHARDS: '3' }
  await expectTheSameOverShards(context, await freshStores(), settings)
})

test('missing wake-ups are added each on its shard, and all are counted', async (context) => {
  const service = await startTestService({ QUEUE_SHARDS: '3' })
  context.onTestFinished(() => service.stop())
  const { accountId } = await buildAccount(service)
  const channelId = await buildChannel(service, accountId)
  const { shards } = service.runtime
  const count = 30
  const wakeUps = await insertBatch(service, manyOf(count, { accountId, channelId }))
  const ordinary = wakeUps.map(({ requestId }) => ({ requestId }))
  expect(await restoreOnShards(shards, ordinary)).toEqual({ restored: count, failures: [] })
  expect(await restoreOnShards(shards, ordinary)).toEqual({ restored: 0, failures: [] })
  const jobs = await Promise.all(shards.map(({ queue }) => queue.getJobs()))
  for (const [index, some] of jobs.entries()) {
    expect(some.length).toBeGreaterThan(0)
    for (const { data } of some) expect(shardOfSend(data.requestId, shards.length)).toBe(index)
  }
  expect(jobs.flat()).toHaveLength(count)
})
