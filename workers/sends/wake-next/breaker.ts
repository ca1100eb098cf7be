import { allowNextProbe, closeBreaker, openBreaker } from '../../../db/delivery/breakers.ts'
import { leastWaitSeconds } from '../../../src/core/sends/delivery-times.ts'
import type { AttemptOutcome } from '../../../src/core/sends/outcome.ts'
import { ownReasons } from '../../../src/core/sends/own-reasons.ts'
import { retryUntilAvailable } from '../../../src/platform/retry-until-available.ts'
import { createTolerantWake } from '../../../src/queue/wake-sends.ts'
import type { Needs } from '../../../src/runtime.ts'
import { createEndSends } from '../../../src/sends/end-sends.ts'
import type { FallbackSettings } from '../../../src/sends/fall-back.ts'
import { noteFailure, wakeUpsOf } from '../../../src/sends/send-end.ts'
import { FailureStreaks } from '../../http/failure-streaks.ts'
import { type RetrySettings, retryDelays } from '../../providers/retry-delays.ts'
import { type WorkerTimes, workerTimes } from '../../worker-times.ts'
import type { EnteredSend, TimedOutcome } from '../send-states.ts'
import { createEndSlowStart } from './slow-start.ts'

const pageSize = 1000

/**
 * The circuit breakers of the channels, shared by all workers through PostgreSQL. The worker that sees a channel fail opens its
 * breaker; the worker whose probe succeeds closes it (docs/explanation/delivery.md#circuit-breakers).
 *
 * @returns a function to call with the outcome of each attempt.
 */
export function channelBreakers(
  runtime: Needs<'db' | 'log' | 'metrics' | 'shards', RetrySettings | FallbackSettings>,
  times: Pick<WorkerTimes, 'failingForMs'> = workerTimes,
) {
  const { db, log, metrics } = runtime
  const retryDelaysOf = retryDelays(runtime)
  const wake = createTolerantWake(runtime, 'fallback_not_woken')
  const streaks = new FailureStreaks(times)
  const open = retryUntilAvailable(log, (which: { channelId: string; isAgain: boolean }) =>
    openBreaker(db, which),
  )
  const fail = retryUntilAvailable(log, createEndSends(runtime).failWaiting)
  const allowProbe = retryUntilAvailable(log, (channelId: string) => allowNextProbe(db, channelId))
  const close = retryUntilAvailable(log, (channelId: string) => closeBreaker(db, channelId))

  const endSlowStart = createEndSlowStart(runtime)

  return async (send: EnteredSend, { outcome, durationMs }: TimedOutcome): Promise<void> => {
    const { channelId, isProbe, isOverflow } = send
    const health = healthOf(outcome)
    if (health === undefined) {
      if (isProbe) await allowProbe(channelId)
      return
    }
    if (health === 'alive') {
      streaks.end(channelId)
      if (isProbe && (await close(channelId))) log.info({ event: 'breaker_closed', channelId })
      if (isOverflow) await endSlowStart(channelId)
      return
    }
    const hasToOpen = streaks.countFailure(channelId, durationMs)
    if (!hasToOpen && !isProbe) return
    streaks.end(channelId)
    const openSeconds = await open({ channelId, isAgain: isProbe })
    if (openSeconds === undefined) return
    const reason = 'reason' in outcome ? outcome.reason : undefined
    log.warn({ event: 'breaker_opened', channelId, reason, openSeconds })
    metrics.breakerOpenings.inc()
    if (isProbe) await giveUpWaiting(send, reason)
  }

  /** Fails the sends that have waited for the failing provider for longer than all retries of a send take. */
  async function giveUpWaiting(probe: EnteredSend, answer: string | undefined): Promise<void> {
    const { channelId } = probe
    const fallsBackFrom = probe.hasFallback ? probe.provider : undefined
    const retriesTakeSeconds = retryDelaysOf(probe).reduce((sum, seconds) => sum + seconds, 0)
    const longerThanSeconds = Math.max(retriesTakeSeconds, leastWaitSeconds)
    const reason = `${ownReasons.providerAway}; its last answer: ${answer ?? 'none'}`
    for (;;) {
      const failed = await fail({ channelId, longerThanSeconds, reason, limit: pageSize, fallsBackFrom })
      // Sends behind them wait for permits, as all sends of the channel do.
      for (const { requestId, fallback } of failed) noteFailure(runtime, { requestId, reason, fallback })
      await wake(wakeUpsOf(failed))
      if (failed.length < pageSize) return
    }
  }
}

/** The health of the channel's provider by an outcome; undefined if it doesn't show. */
function healthOf(outcome: AttemptOutcome): 'alive' | 'failing' | undefined {
  if (outcome.outcome === 'not_called') return undefined
  if (outcome.outcome === 'sent') return 'alive'
  if (outcome.fault === 'provider') return 'failing'
  // Not the provider's fault. An answer shows that the provider works; without one, it wasn't called, e.g. for lack of media.
  return outcome.providerStatus === undefined ? undefined : 'alive'
}
