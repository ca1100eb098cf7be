import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { createLogger } from '../../src/platform/logger.ts'
import { createMetrics } from '../../src/platform/metrics.ts'
import { createRedisBreaker } from '../../src/platform/redis-breaker.ts'

test('work that takes too long is given up as a whole, though each of its commands is answered in time', async () => {
  const throughBreaker = createRedisBreaker(createLogger('silent'), createMetrics('api'), 100)
  let commands = 0
  const work = async () => {
    for (const _ of Array(20)) await sleep(30).then(() => commands++)
  }
  await expect(throughBreaker(work)).rejects.toThrow('Redis did not answer in time')
  expect(commands).toBeLessThan(20)
})
