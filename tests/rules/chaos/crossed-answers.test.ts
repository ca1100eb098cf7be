import { expect, test } from 'vitest'
import { acceptedAndNotSent } from '../../chaos/faults/workers.ts'
import type { PhaseRow } from '../../chaos/phase.ts'

const wentOnAt = 1000
const call = (answeredAt: number) => ({ requestId: 'a', effect: 'accepted' as const, answeredAt })
const row = (status: PhaseRow['status'], isLate: boolean) => ({ requestId: 'a', status, isLate })
const found = (calls: Parameters<typeof acceptedAndNotSent>[0], one: ReturnType<typeof row>) => {
  const { crossed, notSent } = acceptedAndNotSent(calls, [one], wentOnAt)
  return [crossed.length, notSent.length]
}

test('a send that is sent is no finding, nor is one that the provider did not accept', () => {
  expect(found([call(900)], row('sent', true))).toEqual([0, 0])
  expect(found([], row('uncertain', true))).toEqual([0, 0])
  expect(found([{ ...call(1001), effect: 'unknown' }], row('uncertain', true))).toEqual([0, 0])
})

test('only an answer that came when the frozen worker had gone on may cross the end of its call', () => {
  expect(found([call(1001)], row('uncertain', true))).toEqual([1, 0])
  expect(found([call(999)], row('uncertain', true))).toEqual([0, 1])
  expect(found([call(999), call(1001)], row('uncertain', true))).toEqual([0, 1])
})

test.each<{ status: PhaseRow['status']; isLate: boolean; why: string }>([
  { status: 'uncertain', isLate: false, why: 'another worker made the call' },
  { status: 'failed', isLate: true, why: 'the call was answered' },
  { status: 'queued', isLate: false, why: 'it would be called again' },
])('a send that is $status, late: $isLate, is a violation: $why', ({ status, isLate }) => {
  expect(found([call(1001)], row(status, isLate))).toEqual([0, 1])
})
