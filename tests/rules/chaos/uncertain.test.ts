import { expect, test } from 'vitest'
import { isOfTime, uncertainAtAll } from '../../chaos/fault.ts'

const row = {
  requestId: 'a',
  status: 'uncertain',
  failure: 'no whole answer in time',
  finishedAt: 100,
} as const
const answered = (...at: (number | undefined)[]) => ({
  provider: { calls: at.map((answeredAt) => ({ requestId: 'a', answeredAt })) },
})

test('an uncertain send is of time where the provider answered after the send had ended', () => {
  const violations = uncertainAtAll(answered(101), { rows: [row] })
  expect(violations).toHaveLength(1)
  expect(violations.every(isOfTime)).toBe(true)
})

test.each([[[99]], [[99, 101]], [[]]])('an uncertain send whose calls were answered at %j is not', (at) => {
  const violations = uncertainAtAll(answered(...at), { rows: [row] })
  expect(violations).toEqual(['1 sends are uncertain: no whole answer in time'])
  expect(violations.some(isOfTime)).toBe(false)
})

test('an uncertain send whose worker was given up is not', () => {
  const violations = uncertainAtAll(answered(101), { rows: [{ ...row, failure: 'the worker was lost' }] })
  expect(violations).toEqual(['1 sends are uncertain: the worker was lost'])
})

test('no other send is', () => {
  expect(uncertainAtAll(answered(101), { rows: [{ ...row, status: 'sent', failure: null }] })).toEqual([])
})
