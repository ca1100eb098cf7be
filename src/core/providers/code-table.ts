import type { Failure } from '../outcome.ts'

/** What a provider's own error codes come to, and mean: a short clause, for those who are asked about a send. */
export type CodeTable = Readonly<Record<string, KnownCode>>

export type KnownCode = Failure & {
  meaning: string
  /** The least wait before the next attempt, in ms or until the next day begins in UTC; absent: the retry delays. */
  wait?: number | 'next_utc_day'
}
