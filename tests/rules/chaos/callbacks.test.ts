import { expect, test } from 'vitest'
import { compareCallbacks, type ReceivedCallback } from '../../chaos/callback-receiver.ts'

const call = (sequence: number, more: Partial<ReceivedCallback> = {}): ReceivedCallback => ({
  webhookId: `a-${sequence}`,
  requestId: 'a',
  sequence,
  body: `{"sequence":${sequence}}`,
  isTaken: true,
  ...more,
})
const sends = [{ requestId: 'a', changes: 3 }]
const faultsOf = (...calls: ReceivedCallback[]) => compareCallbacks(calls, sends).map(({ what }) => what)

test('all in order, also with repeats, is right', () => {
  expect(faultsOf(call(1), call(2), call(3))).toEqual([])
  expect(faultsOf(call(1, { isTaken: false }), call(1), call(1), call(2), call(3), call(3))).toEqual([])
})

test.each<[string, ReceivedCallback[], string]>([
  ['lost', [call(1), call(3)], 'change 2 of 3 was not taken by the endpoint'],
  [
    'never taken',
    [call(1), call(2), call(3, { isTaken: false })],
    'change 3 of 3 was not taken by the endpoint',
  ],
  ['out of order', [call(2), call(1), call(3)], 'out of order: 2,1,3'],
  [
    'repeated with another id',
    [call(1), call(1, { webhookId: 'b' }), call(2), call(3)],
    'a repeat had another id or body',
  ],
  [
    'repeated with another body',
    [call(1), call(1, { body: '{}' }), call(2), call(3)],
    'a repeat had another id or body',
  ],
])('%s is found', (_, calls, fault) => {
  expect(faultsOf(...calls)).toEqual([fault])
})
