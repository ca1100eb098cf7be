import { dayMs } from '../../../core/durations.ts'
import { longestRetryAfterMs } from '../../../core/sends/outcome.ts'
import type { KnownCode } from '../code-table.ts'
import type { HttpAnswer } from './http-call.ts'

type Answer = Pick<HttpAnswer, 'headers' | 'at'>

/** Minimum wait before the next attempt: the answer's Retry-After, or the code's wait if that is longer. */
export function retryWaitMs(answer: Answer, wait: KnownCode['wait']): number | undefined {
  const askedMs = retryAfterMs(answer)
  if (wait === undefined) return askedMs
  return Math.max(wait === 'next_utc_day' ? dayMs - (writtenAtMs(answer) % dayMs) : wait, askedMs ?? 0)
}

/** Seconds: RFC 9110 has whole ones, and some servers send a fraction, as in `299.5`. */
const seconds = /^\+?(\d+\.?\d*|\.\d+)$/

/**
 * The wait of the answer's Retry-After, which is seconds or a date; undefined if it is missing or malformed. A fraction is
 * rounded up to whole seconds.
 */
export function retryAfterMs(answer: Answer): number | undefined {
  const value = [answer.headers['retry-after']].flat()[0]?.trim() ?? ''
  if (seconds.test(value)) return Math.min(Math.ceil(Number(value)) * 1000, longestRetryAfterMs)
  const writtenAt = writtenAtMs(answer)
  const waitMs = (readHttpDate(value) ?? writtenAt) - writtenAt
  return waitMs > 0 ? Math.min(waitMs, longestRetryAfterMs) : undefined
}

/** The answer's own Date, because its other dates are by the same clock. */
function writtenAtMs({ headers, at }: Answer): number {
  return readHttpDate([headers.date].flat()[0]) ?? at
}

/** The obsolete form of C's asctime, which has no time zone and means GMT. */
const asctime = /^[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4}$/

/**
 * In ms since 1970, of any of the three forms of a date (RFC 9110, 5.6.7). Checks the form first, because Date.parse accepts
 * nearly anything.
 */
function readHttpDate(given = ''): number | undefined {
  const text = given.trim()
  const withZone = asctime.test(text) ? `${text} GMT` : text
  const isDate = withZone !== text || /^[A-Z][a-z]{2,8}, .* GMT$/.test(text)
  const ms = isDate ? Date.parse(withZone) : Number.NaN
  return Number.isNaN(ms) ? undefined : ms
}
