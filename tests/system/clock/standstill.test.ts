import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { availableParallelism } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { expect, onTestFinished, test } from 'vitest'
import { expectSooner, StoodStill, timed, unlessStoodStill } from '../../support/standstill.ts'
import { expectRate } from '../../support/traffic.ts'
import type { WebhookCall } from '../../support/webhook-receiver.ts'

const still = () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300)
const busy = () => {
  const before = process.cpuUsage().user
  while (process.cpuUsage().user - before < 300_000);
}

test('a process that gets no CPU time stands still', async () => {
  const span = await timed(async () => ({ waited: still() }))
  expect(span.stoodStillMs).toBeGreaterThan(200)
  expect(() => expectSooner(span, 200)).toThrow(StoodStill)
})

test('a process that others leave little CPU time stands still, however short each wait is', async ({
  skip,
}) => {
  // Only Linux reports how long a thread has waited for a CPU.
  if (process.platform !== 'linux') skip()
  const others = Array.from({ length: 3 * availableParallelism() }, () =>
    spawn(process.execPath, ['-e', 'for (;;);']),
  )
  onTestFinished(() => {
    for (const other of others) other.kill()
  })
  await sleep(500)
  const span = await timed(async () => ({ done: busy() }))
  expect(span.stoodStillMs).toBeGreaterThan(100)
  expect(span.tookMs - span.stoodStillMs).toBeGreaterThan(250)
})

test('the CPU time of its other threads does not count as its own', async () => {
  const other = new Worker('for (;;);', { eval: true })
  onTestFinished(async () => void (await other.terminate()))
  await once(other, 'online')
  const span = await timed(async () => ({ waited: still() }))
  expect(span.stoodStillMs).toBeGreaterThan(200)
})

test('a process that blocks its own event loop doesn’t stand still', async () => {
  const span = await timed(async () => ({ done: busy() }))
  expect(span.tookMs - span.stoodStillMs).toBeGreaterThan(250)
  expect(() => expectSooner(span, 250)).toThrow('expected')
})

test('work that would have been late in any case isn’t excused', () => {
  expect(() => expectSooner({ tookMs: 900, stoodStillMs: 300 }, 500)).toThrow('expected')
  expect(() => expectSooner({ tookMs: 499, stoodStillMs: 0 }, 500)).not.toThrow()
})

test('a call that was delayed on its way doesn’t exceed a rate, and one that wasn’t does', () => {
  const from = performance.now()
  still()
  const rateOf = (...moments: number[]) =>
    expectRate(
      moments.map((at) => ({ at }) as WebhookCall),
      1,
      1000,
    )
  const to = performance.now()
  expect(() => rateOf(to, to + 1000)).not.toThrow()
  expect(() => rateOf(to, from + 1000)).toThrow(StoodStill)
  expect(() => rateOf(to + 5000, to + 5700)).toThrow('expected')
})

test('the result of a time limit counts, unless the machine stood still meanwhile', () => {
  const look = () => expect('in time').toBe('too late')
  expect(() => unlessStoodStill({ tookMs: 900, stoodStillMs: 0 }, look)).toThrow('expected')
  expect(() => unlessStoodStill({ tookMs: 900, stoodStillMs: 300 }, look)).toThrow(StoodStill)
})

let tries = 0
test('a test that the standstill prevented from checking is repeated', () => {
  if (tries++ === 0) throw new StoodStill('for a try')
  expect(tries).toBe(2)
})
