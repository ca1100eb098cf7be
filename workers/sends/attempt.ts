import type { ClaimedSend } from '../../db/delivery/claims.ts'
import type { AttemptResult } from '../../src/core/outcome.ts'
import type { WakeUp } from '../../src/core/send-job.ts'

/** A send that this worker has claimed; with a rate, the moment of its call and when that is over, as `performance.now()` tells. */
export type OwnSend = ClaimedSend & { callAt?: number; tooLateAt?: number }

/** A claimed send in its conversation. */
export type EnteredSend = OwnSend & { conversationId: string }

/** A call to the provider, or why there was none. */
export interface Attempt {
  outcome: AttemptResult
  durationMs: number
}

/** An attempt whose outcome is in PostgreSQL. */
export interface RecordedAttempt {
  send: EnteredSend
  attempt: Attempt
  /** Its claim had been given up before: what follows for the send was decided then. */
  isLate: boolean
  /** Until the send is tried again; undefined where it has ended. */
  delayMs: number | undefined
  /** The send that stood behind it in its lane, and may go now that it has ended. */
  nextInLane: WakeUp | null
}

/** What the queue is to do when the wake-up has been followed. */
export interface NextWakeUp {
  /** When to wake the send again: undefined where nothing is left to do for it now. */
  wakeInMs?: number | undefined
  /** Whether to look who may go now, it or another of its lane, once this wake-up has left the queue. */
  looksAgain?: boolean
}
