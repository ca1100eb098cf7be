import { expect, test } from 'vitest'
import { parseMoment, sendAtIssue } from '../../../../src/core/sends/send-at.ts'

const nine = '2026-11-24T09:00:00.000Z'

test.each([
  ['2026-11-24T09:00:00Z', nine],
  ['2026-11-24t09:00:00z', nine],
  ['2026-11-24T10:30:00+01:30', nine],
  ['2026-11-24T00:00:00-09:00', nine],
  ['2026-11-23T23:00:00-10:00', nine],
  ['2026-11-24T09:00:00-00:00', nine],
  ['2026-11-24T09:00:00.5Z', '2026-11-24T09:00:00.500Z'],
  ['2026-11-24T09:00:00.123000Z', '2026-11-24T09:00:00.123Z'],
  ['2028-02-29T00:00:00Z', '2028-02-29T00:00:00.000Z'],
])('%s is %s', (text, iso) => {
  expect(parseMoment(text)?.toISOString()).toBe(iso)
})

test.each([
  ['2026-11-24T09:00:00.1230001Z', '2026-11-24T09:00:00.124Z'],
  ['2026-11-24T09:00:00.9999Z', '2026-11-24T09:00:01.000Z'],
])('a fraction of a millisecond is rounded up, so that nothing is sent early: %s', (text, iso) => {
  expect(parseMoment(text)?.toISOString()).toBe(iso)
})

test.each([
  '',
  'tomorrow',
  '2026-11-24',
  '2026-11-24T09:00Z',
  '2026-11-24T09:00:00',
  '2026-11-24 09:00:00Z',
  '2026-11-24T09:00:60Z',
  '2026-11-24T24:00:00Z',
  '2026-11-24T09:60:00Z',
  '2026-02-29T09:00:00Z',
  '2026-13-01T09:00:00Z',
  '2026-11-24T09:00:00+1:00',
  '2026-11-24T09:00:00+24:00',
  '2026-11-24T09:00:00+01:60',
  '2026-11-24T09:00:00 Z',
  ' 2026-11-24T09:00:00Z',
  '2026-11-24T09:00:00.Z',
  '1795510800000',
  '+002026-11-24T09:00:00Z',
])('%j is no time with an offset', (text) => {
  expect(parseMoment(text)).toBeUndefined()
})

const now = Date.parse(nine)
const at = (seconds: number) => sendAtIssue(new Date(now + seconds * 1000), now, 30)
const monthSeconds = 30 * 86_400

test('a time may be up to 60 s past and 30 days ahead', () => {
  expect([-60, 0, 1, monthSeconds].map(at)).toEqual([undefined, undefined, undefined, undefined])
  expect(at(-60.001)).toBe('sendAt: more than 60 s ago')
  expect(at(monthSeconds + 0.001)).toBe('sendAt: more than 30 days ahead')
})
