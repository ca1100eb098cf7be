import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { longestPutOffMs } from '../../../src/core/callback-job.ts'
import { LeftEndpoints } from '../../../workers/callbacks/left-endpoints.ts'

const times = { putOffMs: 1000, afterFaultMs: 2000 }
let left: LeftEndpoints

beforeEach(() => {
  vi.useFakeTimers()
  left = new LeftEndpoints(times)
})
afterEach(() => {
  vi.useRealTimers()
})

/** @returns for how many ms the last one is put off. */
const putOff = (count: number, kind: 'silent' | 'failing') =>
  Array.from({ length: count }, (_, at) => left.leave(`${kind} ${at}`, `no_slot_${kind}`)).at(-1)

test.each([
  { kind: 'failing', perSecond: 8 },
  { kind: 'silent', perSecond: 32 },
] as const)(
  'of the $kind endpoints without a slot, $perSecond come again in a second, and each after 10 s',
  ({ kind, perSecond }) => {
    expect(putOff(perSecond, kind)).toBe(1000)
    expect(putOff(4 * perSecond, kind)).toBe(4000)
    expect(putOff(1000, kind)).toBe(longestPutOffMs)
  },
)

test('those that have come again, or have been called, count no longer', () => {
  putOff(40, 'failing')
  left.forget('failing 0')
  expect(left.has('failing 0')).toBe(false)
  expect(left.leave('other', 'no_slot_failing')).toBe(5000)
  vi.advanceTimersByTime(longestPutOffMs)
  expect(left.has('failing 39')).toBe(false)
  expect(putOff(8, 'failing')).toBe(1000)
})

test('one that is left again counts once, and until its last time', () => {
  left.leave('one', 'refused')
  vi.advanceTimersByTime(500)
  putOff(39, 'failing')
  expect(left.leave('one', 'no_slot_failing')).toBe(5000)
  expect(left.leave('one', 'no_slot_failing')).toBe(5000)
  vi.advanceTimersByTime(4999)
  expect(left.has('one')).toBe(true)
  vi.advanceTimersByTime(1)
  expect(left.has('one')).toBe(false)
})

test.each([
  { reason: 'no_slot_answering', forMs: 1000 },
  { reason: 'no_slot_silent', forMs: 1000 },
  { reason: 'refused', forMs: 1000 },
  { reason: 'fault', forMs: 2000 },
] as const)(
  'however many failing ones are put off, after $reason an endpoint comes again after $forMs ms',
  ({ reason, forMs }) => {
    putOff(1000, 'failing')
    expect(left.leave('other', reason)).toBe(forMs)
  },
)
