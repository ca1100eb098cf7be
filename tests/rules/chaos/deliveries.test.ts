import { expect, test } from 'vitest'
import { compareDeliveries, type DeliveryRow } from '../../chaos/deliveries.ts'

const row: DeliveryRow = { requestId: 'send-1', status: 'sent', delivery: 'delivered', told: 1 }
const post = {
  requestIds: ['send-1'],
  answers: [
    { status: 503, ms: 5 },
    { status: 200, ms: 5 },
  ],
}

test('a receipt that was taken, and told once, is neither lost nor doubled', () => {
  expect(compareDeliveries([post], [row])).toEqual([])
  expect(compareDeliveries([post, post], [row])).toEqual([])
})

test('a receipt that was not taken may be missing', () => {
  const refused = {
    ...post,
    answers: [
      { status: 503, ms: 5 },
      { status: undefined, ms: 5 },
    ],
  }
  expect(compareDeliveries([refused], [{ ...row, delivery: null, told: 0 }])).toEqual([])
})

test.each<[string, DeliveryRow[], RegExp]>([
  ['a send that is not there', [], /not in the database/],
  ['a receipt that is lost', [{ ...row, delivery: null, told: 0 }], /told 0 times/],
  ['a receipt that is told twice', [{ ...row, told: 2 }], /told 2 times/],
  ['a send that stayed uncertain', [{ ...row, status: 'uncertain' }], /it is uncertain/],
])('found is %s', (_, rows, what) => {
  expect(compareDeliveries([post], rows)).toEqual([
    { requestId: 'send-1', what: expect.stringMatching(what) },
  ])
})
