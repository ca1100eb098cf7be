import type { Handling } from '../outcome.ts'

/** What a provider's own error codes come to, and mean: a short clause, for those who are asked about a send. */
export type CodeTable = Readonly<Record<string, { handling: Handling; meaning: string }>>
