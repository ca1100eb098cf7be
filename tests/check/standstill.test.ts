import { expect, test } from 'vitest'
import { expectSooner, StoodStill, timed } from '../support/standstill.ts'

const still = () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300)
const busy = () => {
  const before = process.cpuUsage().user
  while (process.cpuUsage().user - before < 300_000);
}

test('a process that isn’t let run stands still', async () => {
  const span = await timed(async () => ({ waited: still() }))
  expect(span.stoodStillMs).toBeGreaterThan(200)
  expect(() => expectSooner(span, 200)).toThrow(StoodStill)
})

test('one that blocks its own event loop doesn’t', async () => {
  const span = await timed(async () => ({ done: busy() }))
  expect(span.tookMs - span.stoodStillMs).toBeGreaterThan(250)
  expect(() => expectSooner(span, 250)).toThrow('expected')
})

test('what would have come too late in any case isn’t excused', () => {
  expect(() => expectSooner({ tookMs: 900, stoodStillMs: 300 }, 500)).toThrow('expected')
  expect(() => expectSooner({ tookMs: 499, stoodStillMs: 0 }, 500)).not.toThrow()
})

let tries = 0
test('a test that couldn’t see what it looks for is done again', () => {
  if (tries++ === 0) throw new StoodStill('for a try')
  expect(tries).toBe(2)
})
