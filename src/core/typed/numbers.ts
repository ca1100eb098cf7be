import { durationMs } from '../requests/past-moment.ts'
import { TypedFault } from './typed-fault.ts'

const largestInteger = 2_147_483_647
const longestWindowSeconds = 86_400
const maxCallsPerSecond = 1000

export function rateLimit(text: string): { points: number; seconds: number } {
  const [points, seconds] = /^(\d+)\/(\d+)$/.exec(text)?.slice(1).map(Number) ?? []
  if (!points || !seconds || points > largestInteger || seconds > longestWindowSeconds) {
    throw new TypedFault('Use POINTS/SECONDS, e.g. 600/60, with at most 86400 seconds.')
  }
  return { points, seconds }
}

/** Returns 0 for "none", because commander treats null as a missing value. */
export function limit(text: string): number {
  return text === 'none' ? 0 : wholeNumber(text)
}

export interface Rate {
  calls: number
  seconds: number
}

/** Returns 0 calls for "none". */
export function callRate(text: string): Rate {
  if (text === 'none') return { calls: 0, seconds: 0 }
  const [calls, seconds] = /^(\d{1,9})\/(\d{1,9})$/.exec(text)?.slice(1).map(Number) ?? []
  if (!calls || !seconds || calls / seconds > maxCallsPerSecond || seconds > longestWindowSeconds) {
    throw new TypedFault('Use N/SECONDS, e.g. 80/1, with at most 1000 a second and 86400 seconds; or "none".')
  }
  return { calls, seconds }
}

export function wholeNumber(text: string): number {
  const number = /^\d{1,10}$/.test(text) ? Number(text) : 0
  if (number < 1 || number > largestInteger) {
    throw new TypedFault(`Use a whole number from 1 to ${largestInteger}.`)
  }
  return number
}

export function durationSeconds(text: string): number {
  const ms = durationMs(text)
  if (!ms) throw new TypedFault('Use a number above 0 and s, m, h or d, e.g. 90d.')
  return ms / 1000
}

/** How long calls are signed with the former secret, too. */
export function overlapSeconds(text: string): number {
  const seconds = durationMs(text) / 1000
  if (seconds > 0 || /^0[smhd]$/.test(text)) return seconds
  throw new TypedFault('Use 0s to 7d, e.g. 24h.')
}
