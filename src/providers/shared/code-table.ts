import type { CodeDecision } from '../../core/channels/provider.ts'

/** Maps a provider's error codes to outcome and fault, with a meaning: a short clause for support staff. */
export type CodeTable = Readonly<Record<string, KnownCode>>

export type KnownCode = CodeDecision & {
  meaning: string
  /** Minimum wait before the next attempt: ms, or until the next day begins in UTC. Default: the retry delays. */
  wait?: number | 'next_utc_day'
}

/** Codes that decide no outcome, such as those of receipts, with their meanings. */
export type MeaningTable = Readonly<Record<string, string>>

/** Undefined for a code that the table doesn't have, and for what every object has, such as `constructor`. */
export const knownCode = (table: CodeTable, code: string | undefined): KnownCode | undefined =>
  code !== undefined && Object.hasOwn(table, code) ? table[code] : undefined

/** The meaning of a code of an answer, or else of one of the others. */
export function meaningIn(
  code: string | null | undefined,
  codes: CodeTable = {},
  others: MeaningTable = {},
): string | undefined {
  const known = knownCode(codes, code ?? undefined)?.meaning
  return known ?? (code && Object.hasOwn(others, code) ? others[code] : undefined)
}
