/**
 * A fake server of a provider, as its documentation describes it: it speaks the protocol, refuses what the real one refuses,
 * with the real one's error body, and records every call. For tests and `npm run dev`.
 */
export interface Emulator<Call, Answer> {
  /** For a channel of this provider that reaches it, with credentials that it lets in. */
  config: Record<string, unknown>
  /** What it was asked for, in order, refused or not: the last of it, see `keep`. */
  calls: Call[]
  /** What the next call meets in place of the usual answer; several are met one after the other. */
  answerNext(...answers: Answer[]): void
  stop(): Promise<void>
}

export const mostKept = 1000

/** Adds what came last, and lets go of what came first where it is too much: `npm run dev` may run for weeks. */
export function keep<Item>(kept: Item[], item: Item): void {
  kept.push(item)
  if (kept.length > mostKept) kept.shift()
}
