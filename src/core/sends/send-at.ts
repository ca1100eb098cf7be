import { dayMs } from '../durations.ts'

const written =
  /^(\d{4}-\d\d-\d\d)[Tt](([01]\d|2[0-3]):[0-5]\d:[0-5]\d)(?:\.(\d+))?(?:[Zz]|([+-])([01]\d|2[0-3]):([0-5]\d))$/

export const sendAtWanted =
  'has to be a time with its offset, such as 2026-11-24T09:00:00+01:00 or 2026-11-24T08:00:00Z'

/** How long ago `sendAt` may be. A send of the past is sent now. */
const longestPastSeconds = 60

/**
 * A time of RFC 3339, with its offset; undefined for any other text. Fractions of a millisecond are rounded up, so that the send
 * isn't sent before its time.
 */
export function parseMoment(text: string): Date | undefined {
  const [, day = '', time = '', , fraction = '', sign, hours = '0', minutes = '0'] = written.exec(text) ?? []
  const seconds = new Date(`${day}T${time}Z`)
  // A day that its month doesn't have becomes one of the next month, or no time at all.
  if (Number.isNaN(seconds.getTime()) || !seconds.toISOString().startsWith(day)) return undefined
  const offsetMs = (sign === '-' ? -60_000 : 60_000) * (Number(hours) * 60 + Number(minutes))
  const ms = Number(fraction.slice(0, 3).padEnd(3, '0')) + (/[1-9]/.test(fraction.slice(3)) ? 1 : 0)
  return new Date(seconds.getTime() + ms - offsetMs)
}

/** Why a send can't be scheduled for this time; undefined if it can. */
export function sendAtIssue(sendAt: Date, nowMs: number, maxDays: number): string | undefined {
  const aheadMs = sendAt.getTime() - nowMs
  if (aheadMs < -longestPastSeconds * 1000) return `sendAt: more than ${longestPastSeconds} s ago`
  if (aheadMs > maxDays * dayMs) return `sendAt: more than ${maxDays} days ahead`
  return undefined
}
