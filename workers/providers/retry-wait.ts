import type { KnownCode } from '../../src/core/providers/code-table.ts'
import type { HttpAnswer } from './http.ts'

type Told = Pick<HttpAnswer, 'headers' | 'at'>

const dayMs = 24 * 3600 * 1000

/** How long to wait at least before the next attempt: as the answer asks, or longer where its code says so. */
export function retryWaitMs(answer: Told, wait: KnownCode['wait']): number | undefined {
  const askedMs = retryAfterMs(answer)
  if (wait === undefined) return askedMs
  return Math.max(wait === 'next_utc_day' ? dayMs - (writtenAtMs(answer) % dayMs) : wait, askedMs ?? 0)
}

/** How long the answer's Retry-After, seconds or a date, asks to wait; undefined where it doesn't, or not readably. */
export function retryAfterMs(answer: Told): number | undefined {
  const value = [answer.headers['retry-after']].flat()[0]?.trim() ?? ''
  if (/^\d{1,9}$/.test(value)) return Number(value) * 1000
  const writtenAt = writtenAtMs(answer)
  const waitMs = (readHttpDate(value) ?? writtenAt) - writtenAt
  return waitMs > 0 ? waitMs : undefined
}

/** By the clock of whoever wrote the answer, which its own Date shows: what it says of time goes by that clock. */
function writtenAtMs({ headers, at }: Told): number {
  return readHttpDate([headers.date].flat()[0]) ?? at
}

/** In ms since 1970. Date.parse alone reads a date into nearly anything. */
function readHttpDate(text = ''): number | undefined {
  const isDate = /^[A-Z][a-z]{2,8}, .* GMT$/.test(text.trim())
  const ms = isDate ? Date.parse(text) : Number.NaN
  return Number.isNaN(ms) ? undefined : ms
}
