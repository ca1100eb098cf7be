/**
 * A fake server of a provider, as its documentation describes it: it speaks the protocol, refuses what the real one refuses,
 * with the real one's error body, and records every call. For tests and `npm run dev`.
 */
export interface Emulator<Call, Answer> {
  /** Config of a channel that reaches it, with valid credentials. */
  config: Record<string, unknown>
  /** The latest calls, in order, refused ones too; see `keep`. */
  calls: Call[]
  /** Answers the next calls with these, one each, instead of the usual answer. */
  answerNext(...answers: Answer[]): void
  /** Where it sends receipts of the messages that it takes from now on. Without it, it sends none. */
  reportTo?(url: string): void
  stop(): Promise<void>
}

export const maxKept = 1000

/** Adds an item, and drops the oldest one beyond `maxKept`: `npm run dev` may run for weeks. */
export function keep<Item>(kept: Item[], item: Item): void {
  kept.push(item)
  if (kept.length > maxKept) kept.shift()
}
