import { expect, onTestFinished, test, vi } from 'vitest'
import { MicroBatch } from '../../../src/platform/micro-batch.ts'

/** Collects flushes and lets the test end them one by one. */
function heldBatch(
  options: { maxItems?: number; isItemsFault?: (error: unknown) => boolean; mayOverlap?: boolean } = {},
) {
  const flushes: string[][] = []
  const ends: { good: () => void; bad: (error: unknown) => void }[] = []
  const batch = new MicroBatch<string, string>({
    maxItems: options.maxItems ?? 100,
    ...(options.isItemsFault && { isItemsFault: options.isItemsFault }),
    mayOverlap: options.mayOverlap ?? false,
    flush: (items) => {
      flushes.push(items)
      return new Promise((resolve, reject) => {
        ends.push({ good: () => resolve(items.map((item) => `${item}!`)), bad: reject })
      })
    },
  })
  const end = (index: number, error?: unknown) => {
    if (error === undefined) ends[index]?.good()
    else ends[index]?.bad(error)
  }
  return { batch, flushes, end }
}

function flushingBatch(flush: (items: string[]) => Promise<string[]>, maxItems = 100) {
  return new MicroBatch<string, string>({ flush, maxItems, isItemsFault: () => true })
}

/** Two turns of the event loop: one for what has ended, one for the flush that follows. */
const settled = async () => {
  for (let turn = 0; turn < 2; turn++) await new Promise((resolve) => setImmediate(resolve))
}
const poison = async (items: string[]) => {
  if (items.includes('bad')) throw new Error(`poisoned: ${items.join()}`)
  return items.map((item) => `${item}!`)
}

test('a lone call flushes in the same turn of the event loop', async () => {
  const { batch, flushes, end } = heldBatch()
  const result = batch.add('a')
  await settled()
  expect(flushes).toEqual([['a']])
  end(0)
  expect(await result).toBe('a!')
})

test('calls of one turn share a flush', async () => {
  const { batch, flushes, end } = heldBatch()
  const results = ['a', 'b', 'c'].map((item) => batch.add(item))
  await settled()
  end(0)
  expect(await Promise.all(results)).toEqual(['a!', 'b!', 'c!'])
  expect(flushes).toEqual([['a', 'b', 'c']])
})

test('calls during a flush share the next one, and it starts as soon as the first has ended', async () => {
  const { batch, flushes, end } = heldBatch()
  const first = batch.add('a')
  await settled()
  const others = ['b', 'c', 'd'].map((item) => batch.add(item))
  await settled()
  expect(flushes).toEqual([['a']])
  end(0)
  expect(await first).toBe('a!')
  await settled()
  expect(flushes).toEqual([['a'], ['b', 'c', 'd']])
  end(1)
  expect(await Promise.all(others)).toEqual(['b!', 'c!', 'd!'])
})

test("if a flush is stuck, later calls don't wait for it, if that is allowed", async () => {
  vi.useFakeTimers({ toFake: ['performance'] })
  onTestFinished(() => void vi.useRealTimers())
  const { batch, flushes, end } = heldBatch({ mayOverlap: true })
  const stuck = batch.add('a')
  await settled()
  const waiting = batch.add('b')
  vi.advanceTimersByTime(120)
  const later = batch.add('c')
  await settled()
  expect(flushes).toEqual([['a'], ['b', 'c']])
  end(1)
  expect(await Promise.all([waiting, later])).toEqual(['b!', 'c!'])
  end(0)
  expect(await stuck).toBe('a!')
})

test('as many calls as a flush takes begin a second one beside it, if that is allowed, and never a third', async () => {
  const { batch, flushes, end } = heldBatch({ mayOverlap: true, maxItems: 2 })
  const results = [batch.add('a')]
  await settled()
  results.push(batch.add('b'))
  await settled()
  expect(flushes).toEqual([['a']])
  results.push(batch.add('c'))
  await settled()
  expect(flushes).toEqual([['a'], ['b', 'c']])
  results.push(batch.add('d'), batch.add('e'), batch.add('f'))
  await settled()
  expect(flushes).toHaveLength(2)
  for (let index = 0; index < 4; index++) {
    end(index)
    await settled()
  }
  expect(await Promise.all(results)).toEqual(['a!', 'b!', 'c!', 'd!', 'e!', 'f!'])
})

test('never two flushes are in flight', async () => {
  let inFlight = 0
  let most = 0
  const batch = flushingBatch(async (items) => {
    most = Math.max(most, ++inFlight)
    await settled()
    inFlight--
    return items
  })
  await Promise.all(Array.from({ length: 500 }, (_, i) => batch.add(`${i}`)))
  expect(most).toBe(1)
})

test('no flush takes more than maxItems, and the rest goes in the order it came', async () => {
  const { batch, flushes, end } = heldBatch({ maxItems: 2 })
  const results = ['a', 'b', 'c', 'd', 'e', 'f'].map((item) => batch.add(item))
  for (let index = 0; index < 3; index++) {
    await settled()
    end(index)
    await settled()
  }
  expect(flushes).toEqual([
    ['a', 'b'],
    ['c', 'd'],
    ['e', 'f'],
  ])
  expect(await Promise.all(results)).toEqual(['a!', 'b!', 'c!', 'd!', 'e!', 'f!'])
})

test('each call gets its own result', async () => {
  const batch = flushingBatch(async (items) => {
    await settled()
    return items.map((item) => `${item}!`)
  }, 7)
  const items = Array.from({ length: 200 }, (_, i) => `${i}`)
  expect(await Promise.all(items.map((item) => batch.add(item)))).toEqual(items.map((item) => `${item}!`))
})

test('it can be used again after it was idle', async () => {
  const batch = flushingBatch(async (items) => items)
  expect(await batch.add('a')).toBe('a')
  await settled()
  expect(await batch.add('b')).toBe('b')
})

test('a bad item fails alone, with its own error', async () => {
  const batch = flushingBatch(async (items) => {
    await settled()
    return poison(items)
  })
  const results = await Promise.allSettled(['a', 'b', 'bad', 'c'].map((item) => batch.add(item)))
  expect(results).toEqual([
    { status: 'fulfilled', value: 'a!' },
    { status: 'fulfilled', value: 'b!' },
    { status: 'rejected', reason: new Error('poisoned: bad') },
    { status: 'fulfilled', value: 'c!' },
  ])
})

test('a lone bad item is tried once', async () => {
  let flushes = 0
  const batch = flushingBatch(async (items) => {
    flushes++
    return poison(items)
  })
  await expect(batch.add('bad')).rejects.toThrow('poisoned: bad')
  expect(flushes).toBe(1)
})

test("what is no item's fault fails all of the flush, once, and none of the next", async () => {
  const { batch, flushes, end } = heldBatch()
  const first = batch.add('a')
  await settled()
  const others = ['b', 'c'].map((item) => batch.add(item))
  const results = Promise.allSettled([first, ...others])
  end(0)
  await first
  await settled()
  const later = batch.add('d')
  end(1, new Error('away'))
  await Promise.allSettled(others)
  await settled()
  end(2)
  expect(await results).toEqual([
    { status: 'fulfilled', value: 'a!' },
    { status: 'rejected', reason: new Error('away') },
    { status: 'rejected', reason: new Error('away') },
  ])
  expect(await later).toBe('d!')
  expect(flushes).toEqual([['a'], ['b', 'c'], ['d']])
})

test('a flush that throws before it begins fails its items, and the batch can be used again', async () => {
  let broken = true
  const batch = new MicroBatch<string, string>({
    maxItems: 10,
    flush: (items) => {
      if (broken) throw new Error('at once')
      return Promise.resolve(items)
    },
  })
  await expect(batch.add('a')).rejects.toThrow('at once')
  broken = false
  expect(await batch.add('b')).toBe('b')
})

test('a flush gathers items for as long as it is to at that moment', async () => {
  const flushes: string[][] = []
  let gatherMs: number | undefined = 50
  const batch = new MicroBatch<string, string>({
    maxItems: 10,
    gatherMs: () => gatherMs,
    flush: async (items) => {
      flushes.push(items)
      return items
    },
  })
  const first = batch.add('a')
  await settled()
  await Promise.all([first, batch.add('b')])
  gatherMs = undefined
  const next = batch.add('c')
  await settled()
  await Promise.all([next, batch.add('d')])
  expect(flushes).toEqual([['a', 'b'], ['c'], ['d']])
})
