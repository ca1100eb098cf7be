import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createLogger } from '../../../../src/platform/log/logger.ts'
import { createMetrics } from '../../../../src/platform/metrics.ts'
import { createRedisBreaker, RedisGivenUp } from '../../../../src/platform/redis/breaker.ts'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

test('work that takes too long is given up, even if each of its commands is answered in time', async () => {
  const throughBreaker = createRedisBreaker(
    { name: '0', log: createLogger('silent'), metrics: createMetrics('api') },
    100,
  )
  let commands = 0
  const work = async () => {
    for (;;) await new Promise((answered) => setTimeout(answered, 30)).then(() => commands++)
  }
  const given = expect(throughBreaker(work)).rejects.toThrow('Redis did not answer in time')
  await vi.advanceTimersByTimeAsync(101)
  await given
  expect(commands).toBe(3)
})

async function openedBreaker() {
  const throughBreaker = createRedisBreaker(
    { name: '0', log: createLogger('silent'), metrics: createMetrics('api') },
    1000,
  )
  let asked = 0
  const asks = (answer: () => Promise<unknown>) =>
    throughBreaker(async () => {
      asked++
      return await answer()
    })
  const fails = () => asks(() => Promise.reject(new Error('Redis is away')))
  for (const _ of [1, 2]) await expect(fails()).rejects.toThrow('away')
  return { asks, fails, asked: () => asked }
}
const halfASecondLater = () => vi.advanceTimersByTimeAsync(500)
const answers = async () => 'it is back'

test('after two failures in a row Redis is tried again a second later, and calls meanwhile fail at once', async () => {
  const { asks, fails, asked } = await openedBreaker()
  await halfASecondLater()
  await expect(asks(answers)).rejects.toBeInstanceOf(RedisGivenUp)
  await halfASecondLater()
  const together = await Promise.allSettled([fails(), asks(answers), asks(answers)])
  expect(together.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected'])
  expect(asked()).toBe(3)
  await halfASecondLater()
  await expect(asks(answers)).rejects.toBeInstanceOf(RedisGivenUp)
  await halfASecondLater()
  expect(await Promise.all([asks(answers), asks(answers)])).toEqual(['it is back', 'it is back'])
  await expect(fails()).rejects.toThrow('away')
  expect(await asks(answers)).toBe('it is back')
})

test('a clock that is set back while Redis is away does not delay the next try', async () => {
  const { asks } = await openedBreaker()
  vi.setSystemTime(Date.now() - 600_000)
  await vi.advanceTimersByTimeAsync(1000)
  expect(await asks(answers)).toBe('it is back')
})
