import type { DueCallback } from '../../db/callbacks/endpoint-claims.ts'
import { type RecordedTry, recordTries, type TryRow } from '../../db/callbacks/record-tries.ts'
import { isRowFault } from '../../db/connection/errors.ts'
import type { CallbackAnswer, CallbackVerdict } from '../../src/core/callbacks/callback-outcome.ts'
import { MicroBatch } from '../../src/platform/micro-batch.ts'
import { retryUntilAvailable } from '../../src/platform/retry-until-available.ts'
import type { Needs } from '../../src/runtime.ts'

const maxTriesPerFlush = 200

/** Commits the result of a call, counts it, and logs it unless it was delivered: that would be a line for each event. */
export function createRecordTry({ db, log, metrics }: Needs<'db' | 'log' | 'metrics'>) {
  const tries = new MicroBatch<TryRow, RecordedTry | undefined>({
    maxItems: maxTriesPerFlush,
    isItemsFault: isRowFault,
    flush: retryUntilAvailable(log, async (batch) => {
      const recorded = new Map((await recordTries(db, batch)).map((row) => [keyOf(row), row]))
      return batch.map((row) => recorded.get(keyOf(row)))
    }),
  })

  return async (
    callback: DueCallback,
    { status, reason, durationMs }: CallbackAnswer,
    verdict: CallbackVerdict,
  ): Promise<void> => {
    const { endpointId, requestId, sequence, tried, type, triedBeforeResend } = callback
    const { result } = verdict
    const delayMs = result === 'failed' ? verdict.delayMs : null
    const answer = { status, reason, durationMs }
    const recorded = await tries.add({ endpointId, requestId, sequence, tried, ...answer, result, delayMs })
    metrics.callbacks.inc({ result })
    if (!recorded) return
    if (result === 'delivered') {
      if (triedBeforeResend === 0) metrics.callbackLag.observe(Math.max(0, recorded.lagSeconds))
      return
    }
    const about = { requestId, endpointId, sequence, type }
    if (result === 'given_up') log.warn({ ...about, event: 'callback_given_up', ...answer })
    else log.info({ ...about, event: 'callback_failed', ...answer, nextTryAt: recorded.nextTryAt })
  }
}

/** In a batch a callback comes once: its claim has it once. */
const keyOf = ({ endpointId, requestId, sequence }: Pick<TryRow, 'endpointId' | 'requestId' | 'sequence'>) =>
  `${endpointId} ${requestId} ${sequence}`
