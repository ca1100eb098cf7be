import type { ClaimedSend } from '../../db/delivery/claims.ts'
import type { AttemptOutcome } from '../../src/core/sends/outcome.ts'
import type { WakeUp } from '../../src/core/sends/send-job.ts'

/**
 * A send that this worker has claimed, with its expiry (infinite if it has none), and on a channel with a rate with the window for its
 * call: on the clock of `performance.now()`.
 */
export type OwnSend = ClaimedSend & { expiresAt: number; callAt?: number; tooLateAt?: number }

/** A claimed send that has joined its conversation. */
export type EnteredSend = OwnSend & { conversationId: string }

/** The outcome of an attempt, and how long its call took. */
export interface TimedOutcome {
  outcome: AttemptOutcome
  durationMs: number
}

/** A committed outcome. */
export interface RecordedOutcome {
  send: EnteredSend
  outcome: TimedOutcome
  /** Whether its claim had been given up before, when the send's next state was decided. */
  isLate: boolean
  /** Delay until the next attempt; undefined if the send has ended. */
  delayMs: number | undefined
  /** The next send of its lane, which may go now that this one has ended. */
  nextInLane: WakeUp | null
  /** The channel that has it now, if it fell back. */
  fellBackTo: string | undefined
  /** The endpoints that get a callback about it, and may be called now. */
  endpointsToWake: readonly string[]
}
