/**
 * The far side of a provider, as its documentation tells it: it speaks the protocol, refuses what the real one refuses,
 * with the real one's error body, and records every call. For tests and `npm run dev`.
 */
export interface Emulator<Call, Answer> {
  /** For a channel of this provider that reaches it, with credentials that it lets in. */
  config: Record<string, unknown>
  /** What it was asked for, in order, refused or not. */
  calls: Call[]
  /** What the next call meets in place of the usual answer; several are met one after the other. */
  answerNext(...answers: Answer[]): void
  stop(): Promise<void>
}
