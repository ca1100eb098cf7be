import type { EventLoopUtilization } from 'node:perf_hooks'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { SendsFirst } from '../../../workers/callbacks/sends-first.ts'

const sends = { endedCount: 0 }
let active = 0

const used = (ms: number): EventLoopUtilization => ({ idle: 0, active: ms, utilization: ms / 1000 })
const utilization = (now?: EventLoopUtilization, before?: EventLoopUtilization) =>
  now && before ? used(now.active - before.active) : used(active)

let callbacks: SendsFirst

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance'] })
  Object.assign(sends, { endedCount: 0 })
  active = 0
  callbacks = new SendsFirst(sends, utilization)
})
afterEach(() => {
  vi.useRealTimers()
})

function second({ ended, busyMs }: { ended: number; busyMs: number }) {
  vi.advanceTimersByTime(1000)
  sends.endedCount += ended
  active += busyMs
}

test('while sends keep the process busy for seconds, three of them end for each callback', () => {
  callbacks.noteClaimed(50)
  second({ ended: 2000, busyMs: 900 })
  expect(callbacks.gatherMs()).toBeUndefined()
  second({ ended: 2000, busyMs: 900 })
  expect(callbacks.gatherMs()).toBe(75)
  callbacks.noteClaimed(100)
  expect(callbacks.gatherMs()).toBe(150)
})

test('callbacks wait no longer than a second for it', () => {
  callbacks.noteClaimed(10_000)
  second({ ended: 2000, busyMs: 1000 })
  callbacks.gatherMs()
  second({ ended: 2000, busyMs: 1000 })
  expect(callbacks.gatherMs()).toBe(1000)
})

test.each([
  { so: 'waits for others', ended: 2000, busyMs: 500, claimed: 600 },
  { so: 'is kept busy by callbacks alone', ended: 0, busyMs: 1000, claimed: 2000 },
  { so: 'is kept busy by callbacks, with few sends beside', ended: 100, busyMs: 1000, claimed: 2000 },
])('a process that $so claims callbacks at once', ({ ended, busyMs, claimed }) => {
  callbacks.noteClaimed(50)
  second({ ended: 2000, busyMs: 1000 })
  callbacks.gatherMs()
  second({ ended: 2000, busyMs: 1000 })
  expect(callbacks.gatherMs()).toBe(75)
  callbacks.noteClaimed(claimed)
  second({ ended, busyMs })
  expect(callbacks.gatherMs()).toBeUndefined()
})
