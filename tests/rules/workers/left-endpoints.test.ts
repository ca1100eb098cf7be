import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { longestPutOffMs } from '../../../src/core/callback-job.ts'
import { LeftEndpoints } from '../../../workers/callbacks/left-endpoints.ts'

const times = { putOffMs: 1000, afterFaultMs: 2000 }
let left: LeftEndpoints

beforeEach(() => {
  vi.useFakeTimers({ now: 0 })
  left = new LeftEndpoints(times)
})
afterEach(() => {
  vi.useRealTimers()
})

/** The first of a line, of those that aren't called. */
const first = (kind: 'silent' | 'failing', ...called: string[]) =>
  left.first((endpointId) => called.includes(endpointId)).find((one) => one.kind === kind)?.endpointId

/** @returns for how many ms the last one is put off. */
const putOff = (count: number, kind: 'silent' | 'failing') =>
  Array.from({ length: count }, (_, at) => left.leave(`${kind} ${at}`, `no_slot_${kind}`)).at(-1)

test.each(['silent', 'failing'] as const)(
  'of the %s endpoints without a slot, eight come again in a second, and each after 10 s',
  (kind) => {
    expect(putOff(8, kind)).toBe(1000)
    expect(putOff(40, kind)).toBe(5000)
    expect(putOff(1000, kind)).toBe(longestPutOffMs)
  },
)

test('those that are put off for longer come together, each second', () => {
  putOff(39, 'silent')
  const dueAt = [0, 400, 999, 1000].map((now) => {
    vi.setSystemTime(now)
    return now + left.leave('silent 38', 'no_slot_silent')
  })
  expect(dueAt).toEqual([4000, 5000, 5000, 5000])
})

test('the two kinds take turns', () => {
  putOff(3, 'silent')
  putOff(2, 'failing')
  const order: string[] = []
  for (let [next] = left.first(() => false); next; [next] = left.first(() => false)) {
    order.push(next.endpointId)
    left.take(next)
  }
  expect(order).toEqual(['silent 0', 'failing 0', 'silent 1', 'failing 1', 'silent 2'])
})

test('one that this worker is about to call keeps its place, and the next one gets the slot', () => {
  putOff(2, 'silent')
  expect(first('silent', 'silent 0')).toBe('silent 1')
  expect(first('silent')).toBe('silent 0')
})

test('after its time, one in line isn’t left any longer: another worker may have called it', () => {
  left.leave('one', 'no_slot_silent')
  vi.advanceTimersByTime(999)
  expect(left.has('one')).toBe(true)
  vi.advanceTimersByTime(1)
  expect(left.has('one')).toBe(false)
  expect(first('silent')).toBe('one')
})

test('those that have got a slot count no longer', () => {
  putOff(40, 'failing')
  left.forget('failing 0')
  expect(left.has('failing 0')).toBe(false)
  expect(left.leave('other', 'no_slot_failing')).toBe(5000)
})

test('endpoints without a slot stand in line, each kind in its own; one that comes again keeps its place', () => {
  putOff(2, 'silent')
  putOff(2, 'failing')
  vi.advanceTimersByTime(longestPutOffMs)
  left.leave('silent 0', 'no_slot_silent')
  expect(first('silent')).toBe('silent 0')
  left.forget('silent 0')
  expect(first('silent')).toBe('silent 1')
  expect(first('failing')).toBe('failing 0')
})

test('one that was left for another reason, or as of another kind, is in one line only', () => {
  left.leave('one', 'no_slot_silent')
  left.leave('one', 'no_slot_failing')
  expect(first('silent')).toBeUndefined()
  left.leave('one', 'refused')
  expect(first('failing')).toBeUndefined()
  expect(left.has('one')).toBe(true)
})

test('one that may not be called is left until its last time', () => {
  left.leave('one', 'refused')
  vi.advanceTimersByTime(500)
  left.leave('one', 'fault')
  vi.advanceTimersByTime(times.afterFaultMs - 1)
  expect(left.has('one')).toBe(true)
  vi.advanceTimersByTime(1)
  expect(left.has('one')).toBe(false)
  left.leave('one', 'refused')
  left.leave('one', 'no_slot_silent')
  vi.advanceTimersByTime(longestPutOffMs)
  expect(first('silent')).toBe('one')
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
