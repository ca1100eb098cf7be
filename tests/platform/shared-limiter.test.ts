import type { Redis } from 'ioredis'
import { expect, onTestFinished, test, vi } from 'vitest'
import { keyPrefix } from '../../src/core/sends/send-job.ts'
import { startEmbedded } from '../../src/dev/embedded/index.ts'
import { createLogger } from '../../src/platform/log/logger.ts'
import { createMetrics } from '../../src/platform/metrics.ts'
import { parseRedisUrl } from '../../src/platform/redis/address.ts'
import { createRedisBreaker } from '../../src/platform/redis/breaker.ts'
import { connectForRequests, readyWithin, timeoutOf } from '../../src/platform/redis/redis.ts'
import { sharedLimiters } from '../../src/platform/redis/shared-limiter.ts'
import { withTimeouts } from '../support/service.ts'
import { freshRedis } from '../support/stores.ts'

async function openLimiters(redisUrl?: string) {
  const address = parseRedisUrl(withTimeouts(redisUrl ?? (await freshRedis())))
  const log = createLogger('silent')
  const metrics = createMetrics('api')
  const shard = { name: '0', prefix: keyPrefix, log }
  const redis = connectForRequests({ ...shard, address, metrics })
  onTestFinished(() => redis.disconnect())
  await readyWithin(redis, 20_000)
  const throughBreaker = createRedisBreaker({ name: '0', log, metrics }, timeoutOf(address))
  return { redis, createLimiter: sharedLimiters({ shards: [{ ...shard, redis, throughBreaker }] }) }
}

/** The commands that this connection sends: others ask the same Redis for things at the same time. */
async function commandsOf(redis: Redis, work: () => Promise<unknown>): Promise<string[]> {
  const send = vi.spyOn(redis, 'sendCommand')
  await work()
  return send.mock.calls.map(([command]) => command.name).filter((name) => name !== 'ping')
}

test('concurrent uses are one command, in which each key has its own limit and window', async () => {
  const { redis, createLimiter } = await openLimiters()
  const one = createLimiter('rate', { points: 1, seconds: 60 })
  const five = createLimiter('rate', { points: 5, seconds: 10 })
  const two = createLimiter('rate', { points: 2, seconds: 120 })
  const expected = [
    [false, 0, 60],
    [false, 4, 10],
    [false, 1, 120],
    [true, 0, 60],
    [false, 3, 10],
    [false, 0, 120],
    [true, 0, 60],
    [false, 2, 10],
    [true, 0, 120],
  ].map(([isOver, remaining, resetSeconds]) => ({ isOver, remaining, resetSeconds }))
  const thrice = () => [1, 2, 3].flatMap(() => [one.useUp('a'), five.useUp('b'), two.useUp('c')])
  const commands = await commandsOf(redis, async () => {
    expect(await Promise.all(thrice())).toEqual(expected)
  })
  // The first time on a connection the script goes with it.
  expect(commands).toEqual(['eval'])
})

test('of more uses than fit in one command, exactly the limit is granted, and each use gets what is left after it', async () => {
  const { createLimiter } = await openLimiters()
  const limiter = createLimiter('rate', { points: 300, seconds: 60 })
  const counts = await Promise.all(Array.from({ length: 450 }, () => limiter.useUp('a')))
  const taken = counts.filter(({ isOver }) => !isOver)
  expect(taken.map(({ remaining }) => remaining)).toEqual(Array.from({ length: 300 }, (_, i) => 299 - i))
})

test('points that are given back can be used again, by later uses in the same command', async () => {
  const { createLimiter } = await openLimiters()
  const limiter = createLimiter('rate', { points: 1, seconds: 60 })
  await limiter.useUp('a')
  const [over, back, again] = await Promise.all([limiter.useUp('a'), limiter.refund('a'), limiter.useUp('a')])
  expect([over.isOver, back.remaining, again.isOver]).toEqual([true, 1, false])
})

test('several uses at once count all or none, while Redis is away too', async () => {
  const { redis, createLimiter } = await openLimiters()
  for (const isAway of [false, true]) {
    if (isAway) redis.disconnect()
    const limiter = createLimiter('rate', { points: 10, seconds: 60 })
    expect(await limiter.useUp('many', 6)).toMatchObject({ isOver: false, remaining: 4 })
    expect(await limiter.useUp('many', 5)).toMatchObject({ isOver: true, remaining: 4 })
    expect(await limiter.useUp('many', 4)).toMatchObject({ isOver: false, remaining: 0 })
    expect(await limiter.useUp('many')).toMatchObject({ isOver: true, remaining: 0 })
    expect(await limiter.refund('many', 10)).toMatchObject({ remaining: 10 })
  }
})

test('a limit that is lowered below what is used up refuses, and counts nothing of what it refuses', async () => {
  const { createLimiter } = await openLimiters()
  const before = createLimiter('rate', { points: 5, seconds: 60 })
  for (const _ of [1, 2, 3, 4]) await before.useUp('a')
  const lowered = createLimiter('rate', { points: 2, seconds: 60 })
  expect(await lowered.useUp('a')).toMatchObject({ isOver: true, remaining: 0 })
  expect(await before.read('a')).toMatchObject({ isOver: false, remaining: 1 })
})

test('a Redis that has lost its scripts continues to count', async () => {
  // A Redis for this test alone: its outage would fail other tests.
  const { redisUrl, stop } = await startEmbedded({ needs: { postgres: false, redis: true } })
  onTestFinished(stop)
  const { redis, createLimiter } = await openLimiters(redisUrl)
  const limiter = createLimiter('rate', { points: 10, seconds: 60 })
  await limiter.useUp('a')
  await redis.script('FLUSH')
  expect(await limiter.useUp('a')).toMatchObject({ remaining: 8 })
})

test('a clock that is set back while Redis is away makes no wait longer than the window', async () => {
  vi.useFakeTimers({ toFake: ['Date'] })
  onTestFinished(() => void vi.useRealTimers())
  const { redis, createLimiter } = await openLimiters()
  redis.disconnect()
  const limiter = createLimiter('rate', { points: 1, seconds: 60 })
  expect(await limiter.useUp('a')).toMatchObject({ isOver: false })
  vi.setSystemTime(Date.now() - 600_000)
  expect(await limiter.useUp('a')).toMatchObject({ isOver: true, resetSeconds: 60 })
})
