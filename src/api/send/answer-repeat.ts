import type { Context } from 'hono'
import { logEvent } from '../../platform/log/logger.ts'
import type { Needs } from '../../runtime.ts'
import { answerJson } from '../answer.ts'
import { type ApiEnv, stateOf } from '../context.ts'
import { type EarlierSend, keyUsedBefore } from './find-earlier.ts'
import type { RateLimiter } from './rate-limit.ts'

export interface RepeatOptions {
  isCounted: boolean
  messages?: number
  body?: object
  status?: 201 | 202
}

/** A repeat gets the answer of the first request with its key, and doesn't count for the rate limit. */
export function createAnswerRepeat(
  { log, metrics }: Needs<'log' | 'metrics'>,
  { refundRateLimit, showRateLimit }: RateLimiter,
) {
  /**
   * @param isCounted whether the rate limit has counted it, with how many messages.
   * @param body of the answer, and its status, if it isn't that of a send.
   */
  return async (
    c: Context<ApiEnv>,
    { requestId, batch, isSameRequest }: EarlierSend,
    { isCounted, messages = 1, body, status = 202 }: RepeatOptions,
  ): Promise<Response> => {
    const state = stateOf(c)
    await (isCounted ? refundRateLimit(state, messages) : showRateLimit(state))
    if (!isSameRequest) throw keyUsedBefore(requestId)
    const { caller, requestId: repeatId } = state
    logEvent(log, requestId, 'idempotent_replay', { accountId: caller.accountId, repeatId })
    metrics.idempotentReplays.inc()
    return answerJson(c, body ?? acceptedAs(requestId, batch), status, {
      'X-Request-Id': requestId,
      'Idempotent-Replayed': 'true',
    })
  }
}

/** The body of a 202, of a batch or of a single send. */
export const acceptedAs = (requestId: string, batch: readonly string[] | null) => ({
  requestId,
  ...(batch && { messages: batch.map((id) => ({ requestId: id })) }),
})
