import { expect, test } from 'vitest'
import { newId } from '../../../../src/core/requests/new-id.ts'
import { keyPrefix } from '../../../../src/core/sends/send-job.ts'
import { clusterSlots, slotOfTag } from '../../../../src/platform/redis/key-slot.ts'
import { shardOfKey, shardOfSend, shardPrefixes } from '../../../../src/platform/redis/shard-names.ts'

const counts = [1, 2, 3, 4, 6, 16, 64]

test('the slot of a tag is that of Redis', () => {
  expect(['foo', '123456789', 'user1000', ''].map(slotOfTag)).toEqual([12_182, 12_739, 3443, 0])
})

test('one shard has the prefix that the keys always had', () => {
  expect(shardPrefixes(1)).toEqual([keyPrefix])
})

test.each(counts.slice(1))(
  'the prefixes of %i shards are alike on as many masters, and on each divisor of it',
  (count) => {
    const slots = shardPrefixes(count).map((prefix) => slotOfTag(prefix.slice(1, -1)))
    for (let masters = 1; masters <= count; masters++) {
      if (count % masters !== 0) continue
      const carried = countEach(masters, slots, (slot) => Math.floor((slot * masters) / clusterSlots))
      expect(carried).toEqual(Array(masters).fill(count / masters))
    }
  },
)

test('prefixes of another number of shards are others', () => {
  const prefixes = counts.flatMap(shardPrefixes)
  expect(new Set(prefixes).size).toBe(prefixes.length)
})

test.each(counts)('sends and keys are spread evenly over %i shards', (count) => {
  const each = 400
  for (const shardOf of [
    () => shardOfSend(newId(), count),
    (n: number) => shardOfKey(`account-${n}`, count),
  ]) {
    const numbers = Array.from({ length: count * each }, (_, n) => n)
    const found = countEach(count, numbers, shardOf)
    // Six standard deviations of so many.
    for (const some of found) expect(Math.abs(some - each)).toBeLessThan(6 * Math.sqrt(each))
  }
})

/** How many of the items fall into each of the parts. */
function countEach(parts: number, items: readonly number[], partOf: (item: number) => number): number[] {
  const found = items.map(partOf)
  return Array.from({ length: parts }, (_, part) => found.filter((one) => one === part).length)
}
