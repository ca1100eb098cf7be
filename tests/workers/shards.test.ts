import { test } from 'vitest'
import { expectTheSameOverShards } from '../support/over-shards.ts'
import { freshStores } from '../support/stores.ts'

test('over three shards of one Redis, lanes keep their order, limits are exact, and board and metrics show each', async (context) => {
  const settings = { ALLOWED_PRIVATE_NETWORKS: '127.0.0.0/8', QUEUE_SHARDS: '3' }
  await expectTheSameOverShards(context, await freshStores(), settings)
})
