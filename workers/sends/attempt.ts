import type { ClaimedSend } from '../../db/delivery/claims.ts'
import type { AttemptResult } from '../../src/core/outcome.ts'

/** A send that this worker has claimed; with a rate, the moment of its call and when that is over, as `performance.now()` tells. */
export type OwnSend = ClaimedSend & { callAt?: number; tooLateAt?: number }

/** A claimed send in its conversation. */
export type EnteredSend = OwnSend & { conversationId: string }

/** A call to the provider, or why there was none. */
export interface Attempt {
  outcome: AttemptResult
  durationMs: number
}

/** What the queue is to do when the wake-up has been followed. */
export interface NextWakeUp {
  /** When to wake the send again: undefined where nothing is left to do for it now. */
  wakeInMs?: number | undefined
  /** Wakes those who waited for this send: to be called before its own wake-up leaves the queue. */
  wakeOthers?: () => Promise<unknown>
  /** Whether to look who may go now, it or another of its lane, once this wake-up has left the queue. */
  looksAgain?: boolean
}
