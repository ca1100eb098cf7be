import { dayMs } from '../durations.ts'
import { retryDelayMs } from '../sends/outcome.ts'

/** The result of one call of an endpoint. Nothing else is kept of its answer. */
export interface CallbackAnswer {
  /** The HTTP status; null without an answer. */
  status: number | null
  /** Why there was no answer. */
  reason: string | null
  durationMs: number
  retryAfterMs?: number | undefined
}

/** A call, as the list of tries shows it. */
export interface CallbackTry {
  /** When it ended, in UTC. */
  at: string
  status: number | null
  reason: string | null
  durationMs: number
}

/** The result of a call for its callback. */
export type CallbackVerdict =
  | { result: 'delivered' }
  | { result: 'failed'; delayMs: number }
  | { result: 'given_up' }
  /** The endpoint wants no more callbacks. This one is kept, and its tries aren't used up. */
  | { result: 'gone' }

const goneStatus = 410
/** As the longest delay of the default schedule: a callback that waits much longer would be removed before its next try. */
export const longestCallbackRetryAfterMs = dayMs

export const isDelivered = ({ status }: Pick<CallbackAnswer, 'status'>) =>
  status !== null && status >= 200 && status < 300

/** @param tryNumber of the call, from 1; from 1 again after a resend. */
export function decideCallback(
  answer: CallbackAnswer,
  tryNumber: number,
  rules: { retryDelaysSeconds: readonly number[]; random: number },
): CallbackVerdict {
  if (isDelivered(answer)) return { result: 'delivered' }
  if (answer.status === goneStatus) return { result: 'gone' }
  const retryAfterMs = Math.min(answer.retryAfterMs ?? 0, longestCallbackRetryAfterMs)
  const delayMs = retryDelayMs(tryNumber, rules, retryAfterMs)
  return delayMs === undefined ? { result: 'given_up' } : { result: 'failed', delayMs }
}
