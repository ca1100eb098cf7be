import type { KnownCode } from '../../src/core/providers/code-table.ts'
import type { HttpAnswer } from './http.ts'

type Answer = Pick<HttpAnswer, 'headers' | 'at'>

const dayMs = 24 * 3600 * 1000

/** Minimum wait before the next attempt: the answer's Retry-After, or the code's wait if that is longer. */
export function retryWaitMs(answer: Answer, wait: KnownCode['wait']): number | undefined {
  const askedMs = retryAfterMs(answer)
  if (wait === undefined) return askedMs
  return Math.max(wait === 'next_utc_day' ? dayMs - (writtenAtMs(answer) % dayMs) : wait, askedMs ?? 0)
}

/** The wait of the answer's Retry-After, which is seconds or a date; undefined if it is missing or malformed. */
export function retryAfterMs(answer: Answer): number | undefined {
  const value = [answer.headers['retry-after']].flat()[0]?.trim() ?? ''
  if (/^\d{1,9}$/.test(value)) return Number(value) * 1000
  const writtenAt = writtenAtMs(answer)
  const waitMs = (readHttpDate(value) ?? writtenAt) - writtenAt
  return waitMs > 0 ? waitMs : undefined
}

/** The answer's own Date, because its other dates are by the same clock. */
function writtenAtMs({ headers, at }: Answer): number {
  return readHttpDate([headers.date].flat()[0]) ?? at
}

/** In ms since 1970. Checks the form first, because Date.parse accepts nearly anything. */
function readHttpDate(text = ''): number | undefined {
  const isDate = /^[A-Z][a-z]{2,8}, .* GMT$/.test(text.trim())
  const ms = isDate ? Date.parse(text) : Number.NaN
  return Number.isNaN(ms) ? undefined : ms
}
