import { parseMoment } from '../sends/send-at.ts'

const unitSeconds: Record<string, number> = { s: 1, m: 60, h: 3600, d: 86_400 }

export const pastMomentWanted =
  'a date and time with its offset, e.g. 2026-11-21T14:00:00Z, or how long ago, e.g. 90m, 1h or 2d'

/** A date and time in RFC 3339, or a duration before now; undefined for any other text. */
export function parsePastMoment(text: string): Date | undefined {
  const ms = durationMs(text)
  return ms ? new Date(Date.now() - ms) : parseMoment(text.replace(withoutSeconds, '$&:00'))
}

const withoutSeconds = /^[\d-]{10}[Tt]\d\d:\d\d(?=[Zz+-])/

/** Returns 0 if the text is not a duration. */
export function durationMs(text: string): number {
  const [, count, unit = ''] = /^(\d{1,6})([smhd])$/.exec(text) ?? []
  return Number(count ?? 0) * (unitSeconds[unit] ?? 0) * 1000
}
