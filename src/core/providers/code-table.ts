import type { Failure } from '../outcome.ts'

/** Maps a provider's error codes to outcome and fault, with a meaning: a short clause for support staff. */
export type CodeTable = Readonly<Record<string, KnownCode>>

export type KnownCode = Failure & {
  meaning: string
  /** Minimum wait before the next attempt: ms, or until the next day begins in UTC. Default: the retry delays. */
  wait?: number | 'next_utc_day'
}
