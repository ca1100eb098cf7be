import type { Failure } from '../../core/sends/outcome.ts'

/** Maps a provider's error codes to outcome and fault, with a meaning: a short clause for support staff. */
export type CodeTable = Readonly<Record<string, KnownCode>>

export type KnownCode = Failure & {
  meaning: string
  /** Minimum wait before the next attempt: ms, or until the next day begins in UTC. Default: the retry delays. */
  wait?: number | 'next_utc_day'
}

/** Undefined for a code that the table doesn't have, and for what every object has, such as `constructor`. */
export const knownCode = (table: CodeTable, code: string | undefined): KnownCode | undefined =>
  code !== undefined && Object.hasOwn(table, code) ? table[code] : undefined
