import { expect, test } from 'vitest'
import { formatTraceparent, parseTraceparent } from '../../../../src/core/requests/traceparent.ts'

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
const spanId = '00f067aa0ba902b7'

test.each([
  [`00-${traceId}-${spanId}-01`, 1],
  [`00-${traceId}-${spanId}-00`, 0],
  [` 00-${traceId}-${spanId}-03 `, 1],
  [`cc-${traceId}-${spanId}-01-what-comes-later`, 1],
])('%s is read', (header, traceFlags) => {
  expect(parseTraceparent(header)).toEqual({ traceId, spanId, traceFlags })
})

test.each([
  undefined,
  '',
  'x',
  `00-${traceId}-${spanId}`,
  `00-${traceId}-${spanId}-01-more`,
  `ff-${traceId}-${spanId}-01`,
  `00-${'0'.repeat(32)}-${spanId}-01`,
  `00-${traceId}-${'0'.repeat(16)}-01`,
  `00-${traceId.toUpperCase()}-${spanId}-01`,
  `00-${traceId}-${spanId}-1`,
  `00-${traceId}-${spanId}-01, 00-${traceId}-${spanId}-01`,
])('%s is malformed', (header) => {
  expect(parseTraceparent(header)).toBeUndefined()
})

test('what is written is read again', () => {
  const header = `00-${traceId}-${spanId}-01`
  expect(formatTraceparent({ traceId, spanId, traceFlags: 1 })).toBe(header)
  expect(parseTraceparent(formatTraceparent({ traceId, spanId, traceFlags: 0 }))?.traceFlags).toBe(0)
})
