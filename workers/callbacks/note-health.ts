import type { ClaimedEndpoint, DueCallback } from '../../db/callbacks/endpoint-claims.ts'
import { noteEndpointAnswers, noteEndpointFailure } from '../../db/callbacks/endpoint-health.ts'
import { openEndpointBreaker } from '../../db/delivery/breakers.ts'
import {
  type CallbackAnswer,
  type CallbackVerdict,
  decideCallback,
} from '../../src/core/callbacks/callback-outcome.ts'
import { MicroBatch } from '../../src/platform/micro-batch.ts'
import { retryUntilAvailable } from '../../src/platform/retry-until-available.ts'
import type { Needs } from '../../src/runtime.ts'
import { FailureStreaks } from '../http/failure-streaks.ts'
import type { WorkerTimes } from '../worker-times.ts'

const maxAnswersPerFlush = 200
const goneReason = 'the endpoint answered 410: it wants no more callbacks'

/**
 * Decides the result of a callback after a call, and notes what the call says about its endpoint: that it answers, or fails,
 * wants no more, or is not called for a while. A circuit breaker follows the same rules as that of a channel.
 */
export function createNoteHealth(
  runtime: Needs<'db' | 'log' | 'metrics', 'CALLBACK_RETRY_DELAYS_SECONDS'>,
  times: Pick<WorkerTimes, 'failingForMs'>,
) {
  const { db, log, metrics, settings } = runtime
  const streaks = new FailureStreaks(times)
  const answers = new MicroBatch<ClaimedEndpoint, boolean>({
    maxItems: maxAnswersPerFlush,
    flush: retryUntilAvailable(log, async (answered: ClaimedEndpoint[]) => {
      const closed = new Set(await noteEndpointAnswers(db, answered))
      return answered.map(({ endpointId }) => closed.has(endpointId))
    }),
  })
  const noteFailure = retryUntilAvailable(
    log,
    ({ claimed, disables }: { claimed: ClaimedEndpoint; disables: string | undefined }) =>
      noteEndpointFailure(db, claimed, disables),
  )
  const open = retryUntilAvailable(log, (which: { endpointId: string; isAgain: boolean }) =>
    openEndpointBreaker(db, which),
  )
  const noted = new WeakSet<ClaimedEndpoint>()

  return async (
    claimed: ClaimedEndpoint,
    callback: DueCallback,
    answer: CallbackAnswer,
  ): Promise<CallbackVerdict> => {
    const rules = { retryDelaysSeconds: settings.CALLBACK_RETRY_DELAYS_SECONDS, random: Math.random() }
    const verdict = decideCallback(answer, callback.tried - callback.triedBeforeResend + 1, rules)
    if (verdict.result === 'delivered') await answered(claimed)
    else await failed(claimed, answer, verdict.result === 'gone' ? goneReason : undefined)
    return verdict
  }

  async function answered(claimed: ClaimedEndpoint): Promise<void> {
    const { endpointId, isInSlowStart, isAnswerOld } = claimed
    streaks.end(endpointId)
    if ((!isInSlowStart && !isAnswerOld) || noted.has(claimed)) return
    noted.add(claimed)
    if (await answers.add(claimed)) log.info({ event: 'breaker_closed', endpointId })
  }

  async function failed(
    claimed: ClaimedEndpoint,
    answer: CallbackAnswer,
    disables: string | undefined,
  ): Promise<void> {
    const { endpointId, isProbe } = claimed
    const disabledFor = await noteFailure({ claimed, disables })
    if (disabledFor === undefined) return streaks.end(endpointId)
    if (disabledFor !== null) {
      log.error({ event: 'endpoint_disabled', endpointId, reason: disabledFor })
      metrics.endpointsDisabled.inc()
      return
    }
    const hasToOpen = streaks.countFailure(endpointId, answer.durationMs)
    if (!hasToOpen && !isProbe) return
    streaks.end(endpointId)
    const openSeconds = await open({ endpointId, isAgain: isProbe })
    if (openSeconds === undefined) return
    log.warn({
      event: 'breaker_opened',
      endpointId,
      status: answer.status,
      reason: answer.reason,
      openSeconds,
    })
  }
}
