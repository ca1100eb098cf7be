import { expect, test } from 'vitest'
import { compareOrder } from '../../bench/fairness/order-ledger.ts'

const ann = '+491511'
const rows = ['first', 'second', 'third'].map((requestId, seq) => ({
  requestId,
  contact: ann,
  seq,
  status: 'sent',
}))
const accepted = rows.map(({ requestId }) => requestId)

/** The calls in the order in which they arrived. */
function callsInOrder(...calls: [requestId: string, status?: number][]) {
  return calls.map(([requestId, status = 200], arrivedAt) => ({ requestId, status, arrivedAt }))
}

test('a retry that comes before the next send is in order', () => {
  const calls = callsInOrder(['first', 503], ['first'], ['second'], ['third'])
  expect(compareOrder(accepted, rows, calls)).toEqual({ outOfOrder: 0, lost: 0, doubled: 0, uncertain: 0 })
})

test('a retry that comes after the next send is out of order', () => {
  const calls = callsInOrder(['first', 503], ['second'], ['first'], ['third'])
  expect(compareOrder(accepted, rows, calls).outOfOrder).toBe(1)
})

test('sends to different contacts have no order', () => {
  const apart = rows.map((row) => ({ ...row, contact: row.requestId }))
  const calls = callsInOrder(['third'], ['second'], ['first'])
  expect(compareOrder(accepted, apart, calls).outOfOrder).toBe(0)
})

test('what is not recorded, not ended, or sent without a call is lost', () => {
  const [first, second] = rows.map((row, index) => ({ ...row, status: index === 0 ? 'sending' : 'sent' }))
  const calls = callsInOrder(['first'])
  expect(
    compareOrder(
      accepted,
      [first, second].flatMap((row) => row ?? []),
      calls,
    ).lost,
  ).toBe(3)
})

test('a send that was taken twice is doubled', () => {
  const calls = callsInOrder(['first'], ['first'], ['second'], ['third'])
  expect(compareOrder(accepted, rows, calls).doubled).toBe(1)
})
