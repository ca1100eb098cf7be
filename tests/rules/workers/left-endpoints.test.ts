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

const putOff = (count: number) =>
  Array.from({ length: count }, (_, at) => left.leave(`${count}-${at}`, 'put_off'))

test('the more endpoints don’t answer, the longer each is put off, so that eight come again in a second', () => {
  expect(putOff(8).at(-1)).toBe(1000)
  expect(putOff(32).at(-1)).toBe(5000)
  expect(putOff(1000).at(-1)).toBe(longestPutOffMs)
})

test('those that have come again count no longer', () => {
  putOff(40)
  vi.advanceTimersByTime(longestPutOffMs)
  expect(left.reasonOf('40-39')).toBeUndefined()
  expect(putOff(8).at(-1)).toBe(1000)
})

test.each([
  { reason: 'crowded_out', forMs: 1000 },
  { reason: 'refused', forMs: 1000 },
  { reason: 'fault', forMs: 2000 },
] as const)(
  'beside them, one that was left because of $reason comes again after $forMs ms',
  ({ reason, forMs }) => {
    putOff(1000)
    expect(left.leave('other', reason)).toBe(forMs)
    vi.advanceTimersByTime(forMs - 1)
    expect(left.reasonOf('other')).toBe(reason)
    vi.advanceTimersByTime(1)
    expect(left.reasonOf('other')).toBeUndefined()
  },
)
