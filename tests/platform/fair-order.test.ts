import { v7 as uuidv7 } from 'uuid'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { keyPrefix, overflowQueueName } from '../../src/core/sends/send-job.ts'
import { fairTags } from '../../src/queue/fair-order.ts'
import { addWakeUps } from '../../src/queue/queue.ts'
import { startTestService, type TestService } from '../support/service.ts'

let service: TestService

/** Its own Redis database each time: there is one overflow for all channels. */
beforeEach(async () => {
  service = await startTestService()
})
afterEach(() => service.stop())

const lastTag = 2 ** 21 - 1
const lastTags = `${keyPrefix}:${overflowQueueName}:last-tags`
const tagsOf = (...channels: string[]) => fairTags(service.runtime, channels)

/** Adds a wake-up to the overflow for each of the channels; `add('aab')` two for a and one for b. */
async function add(channels: string): Promise<void> {
  const wakeUps = [...channels].map((channel) => ({ requestId: uuidv7(), overflowOf: channel }))
  for (const { requestId, overflowOf } of wakeUps) channelOf.set(requestId, overflowOf)
  await addWakeUps(service.runtime, wakeUps)
}

const channelOf = new Map<string, string>()

/** Takes the first ones out of the overflow, as a worker does. @returns of which channels they are. */
async function take(count: number): Promise<string> {
  const { redis, overflow } = service.runtime
  const taken = await redis.zpopmin(overflow.toKey('prioritized'), count)
  return taken.flatMap((id, index) => (index % 2 ? [] : [channelOf.get(id)])).join('')
}

test('channels alternate, whichever of them came first and with how many sends', async () => {
  await add('aaaaaa')
  await add('bbb')
  await add('c')
  expect(await take(20)).toBe('aabcababaa')
})

test('channels alternate also within one batch', async () => {
  await add('aaaabbbbc')
  expect(await take(20)).toBe('abcababab')
})

test("a channel's own wake-ups stay in the order in which they were added", async () => {
  expect(await tagsOf('a', 'a', 'b', 'a')).toEqual([1, 2, 1, 3])
})

test('one that joins later starts at what is being served: neither before it nor after what others have waiting', async () => {
  await add('a'.repeat(20))
  await take(10)
  await add('bbb')
  expect(await take(20)).toBe('aabababaaaaaa')
})

test('one that had nothing waiting for some time has gained no priority', async () => {
  await add('b')
  await add('a'.repeat(20))
  await take(11)
  expect(await tagsOf('b')).toEqual([13])
})

test('one that was served far ahead continues from its own last send', async () => {
  await add('aaaaa')
  await add('b')
  await take(2)
  expect(await tagsOf('a', 'b')).toEqual([6, 3])
})

test('when the overflow is empty all scores are deleted, and every channel starts again', async () => {
  await add('aaaabb')
  await take(6)
  expect(await tagsOf('a', 'b', 'a')).toEqual([1, 1, 2])
})

test('while something waits, the scores are kept', async () => {
  await add('aaa')
  await take(2)
  expect(await tagsOf('a')).toEqual([4])
})

test("at BullMQ's bound, wake-ups are still taken, in the order in which they came", async () => {
  await add('a')
  await service.runtime.redis.hset(lastTags, 'b', lastTag - 1)
  expect(await tagsOf('b', 'b')).toEqual([lastTag, lastTag])
  await add('bb')
  await service.runtime.redis.hset(lastTags, 'c', lastTag)
  await add('cbc')
  expect(await take(20)).toBe('abbcbc')
})

test('one that joins when the bound is being served does not go beyond it', async () => {
  await add('a')
  await service.runtime.redis.hset(lastTags, 'a', lastTag)
  await add('a')
  await take(1)
  expect(await tagsOf('b', 'a')).toEqual([lastTag, lastTag])
})

test('the scores expire by themselves', async () => {
  await add('a')
  expect(await service.runtime.redis.pttl(lastTags)).toBeGreaterThan(3_600_000)
})

test('a large batch of sends is tagged, too', async () => {
  const tags = await tagsOf(...Array<string>(1000).fill('a'))
  expect(tags).toEqual(Array.from({ length: 1000 }, (_, index) => index + 1))
})
