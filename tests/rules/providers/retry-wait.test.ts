import { expect, test } from 'vitest'
import { hourMs } from '../../../src/core/durations.ts'
import { longestRetryAfterMs } from '../../../src/core/sends/outcome.ts'
import { retryAfterMs, retryWaitMs } from '../../../src/providers/shared/http/retry-wait.ts'

const at = Date.UTC(2026, 10, 22, 20)
const dateOf = (hour: number) => new Date(Date.UTC(2026, 10, 22, hour)).toUTCString()

test.each([
  ['the Date of the answer', { date: dateOf(10) }, 14 * hourMs],
  ["PostgreSQL's clock, where it has none", {}, 4 * hourMs],
  ["PostgreSQL's clock, where it can't be read", { date: '2026' }, 4 * hourMs],
  ['a longer Retry-After', { date: dateOf(10), 'retry-after': '90000' }, 25 * hourMs],
])('a limit of a day waits by %s', (_, headers, waitMs) => {
  expect(retryWaitMs({ headers, at }, 'next_utc_day')).toBe(waitMs)
})

test('a code with a least wait waits that long, or as long as the answer asks where that is longer', () => {
  expect(retryWaitMs({ headers: {}, at }, 5000)).toBe(5000)
  expect(retryWaitMs({ headers: { 'retry-after': '1' }, at }, 5000)).toBe(5000)
  expect(retryWaitMs({ headers: { 'retry-after': '7' }, at }, 5000)).toBe(7000)
  expect(retryWaitMs({ headers: {}, at }, undefined)).toBeUndefined()
})

const httpDate = (ms: number) => new Date(ms).toUTCString()
test.each<[string, Record<string, string | string[]>, number | undefined]>([
  ['seconds', { 'retry-after': '7' }, 7000],
  [
    'a date, by the Date of the answer',
    { 'retry-after': httpDate(at + hourMs + 9000), date: httpDate(at + hourMs) },
    9000,
  ],
  ['a date, by PostgreSQL where the answer has no Date', { 'retry-after': httpDate(at + 9000) }, 9000],
  [
    'a date, by PostgreSQL where its Date is none',
    { 'retry-after': httpDate(at + 9000), date: 'today' },
    9000,
  ],
  ['a date as RFC 850 had it', { 'retry-after': 'Sunday, 22-Nov-26 20:00:09 GMT', date: httpDate(at) }, 9000],
  ['a date as asctime writes it', { 'retry-after': 'Sun Nov 22 20:00:09 2026', date: httpDate(at) }, 9000],
  [
    'a date, by a Date as asctime writes it',
    { 'retry-after': httpDate(0), date: 'Wed Dec 31 23:59:51 1969' },
    9000,
  ],
  ['a date that is over', { 'retry-after': httpDate(at), date: httpDate(at + 1000) }, undefined],
  [
    'a date beside two of the answer',
    { 'retry-after': httpDate(at + 9000), date: [httpDate(at), httpDate(0)] },
    9000,
  ],
  ['a fraction, rounded up', { 'retry-after': '299.5' }, 300_000],
  ['a fraction below a second', { 'retry-after': '.2' }, 1000],
  ['a fraction of nothing', { 'retry-after': '7.0' }, 7000],
  ['a fraction without its digits', { 'retry-after': '7.' }, 7000],
  ['a fraction of many digits', { 'retry-after': '0.1234567890123456789' }, 1000],
  ['a number with a sign', { 'retry-after': '+7' }, 7000],
  ['a number with zeros before it', { 'retry-after': '0000000000007' }, 7000],
  ['white space around it', { 'retry-after': ' 7\t' }, 7000],
  ['no wait', { 'retry-after': '0' }, 0],
  ['more than the longest wait', { 'retry-after': '99999999999' }, longestRetryAfterMs],
  ['a number without an end', { 'retry-after': '9'.repeat(400) }, longestRetryAfterMs],
  ['a date after the longest wait', { 'retry-after': httpDate(Date.UTC(2099, 1)) }, longestRetryAfterMs],
  ['a negative number', { 'retry-after': '-7' }, undefined],
  ['two fractions', { 'retry-after': '7.5.5' }, undefined],
  ['a dot', { 'retry-after': '.' }, undefined],
  ['a number in hexadecimal', { 'retry-after': '0x10' }, undefined],
  ['what is not finite', { 'retry-after': 'Infinity' }, undefined],
  ['nothing', {}, undefined],
  ['nothing that is a date', { 'retry-after': 'soon, in 2099', date: httpDate(at) }, undefined],
])('Retry-After as %s', (_what, headers, waitMs) => {
  expect(retryAfterMs({ headers, at })).toBe(waitMs)
})
