import { LRUCache } from 'lru-cache'
import { allowNextProbe, closeBreaker, failWaiting, openBreaker } from '../../db/delivery/breakers.ts'
import type { AttemptResult } from '../../src/core/outcome.ts'
import { ownReasons } from '../../src/core/own-reasons.ts'
import { logEvent } from '../../src/platform/logger.ts'
import type { Needs } from '../../src/runtime.ts'
import { retryUntilAvailable } from '../retry-until-available.ts'
import type { Attempt, EnteredSend } from './attempt.ts'
import { slowStartEnder } from './slow-start.ts'
import type { Queues } from './wake.ts'

/** A channel fails when so many calls in a row have, over so long a time. */
export const mostFailures = 5
export const failingForMs = 5000
const watchedChannels = 10_000
/** Failures that lie further apart don't belong together. */
const longestGapMs = 60_000
const pageSize = 1000
const leastWaitSeconds = 600

interface Streak {
  failures: number
  /** When the first of these calls began, on the process's monotonic clock. */
  since: number
}

/**
 * The circuit breaker of each channel: shared by the workers through PostgreSQL, opened by the one that sees the channel
 * fail, and closed by the one whose call it lets through (docs/explanation/delivery.md#circuit-breakers).
 *
 * @returns what to tell the outcome of each call.
 */
export function channelBreakers(runtime: Queues & Needs<'db' | 'log' | 'metrics', 'RETRY_DELAYS_SECONDS'>) {
  const { db, log, metrics, settings } = runtime
  const streaks = new LRUCache<string, Streak>({ max: watchedChannels, ttl: longestGapMs })
  const open = retryUntilAvailable(log, (which: { channelId: string; isAgain: boolean }) =>
    openBreaker(db, which),
  )
  const fail = retryUntilAvailable(log, (which: Parameters<typeof failWaiting>[1]) => failWaiting(db, which))
  const letAnother = retryUntilAvailable(log, (channelId: string) => allowNextProbe(db, channelId))
  const close = retryUntilAvailable(log, (channelId: string) => closeBreaker(db, channelId))

  const endSlowStart = slowStartEnder(runtime)

  return async (send: EnteredSend, { outcome, durationMs }: Attempt): Promise<void> => {
    const { channelId, isProbe, isOverflow } = send
    const health = healthOf(outcome)
    if (health === undefined) {
      if (isProbe) await letAnother(channelId)
      return
    }
    if (health === 'alive') {
      streaks.delete(channelId)
      if (isProbe && (await close(channelId))) log.info({ event: 'breaker_closed', channelId })
      if (isOverflow) await endSlowStart(channelId)
      return
    }
    const streak = longer(streaks.get(channelId), performance.now() - durationMs)
    streaks.set(channelId, streak)
    if (!isProbe && !isFailing(streak)) return
    streaks.delete(channelId)
    const openSeconds = await open({ channelId, isAgain: isProbe })
    if (openSeconds === undefined) return
    const reason = 'reason' in outcome ? outcome.reason : undefined
    log.warn({ event: 'breaker_opened', channelId, reason, openSeconds })
    metrics.breakerOpenings.inc()
    if (isProbe) await giveUpWaiting(channelId, reason)
  }

  /** Where the provider stays away: nobody waits for it longer than all retries of a send would have taken. */
  async function giveUpWaiting(channelId: string, answer: string | undefined): Promise<void> {
    const retriesTakeSeconds = settings.RETRY_DELAYS_SECONDS.reduce((sum, seconds) => sum + seconds, 0)
    const longerThanSeconds = Math.max(retriesTakeSeconds, leastWaitSeconds)
    const reason = `${ownReasons.providerAway}; its last answer: ${answer ?? 'none'}`
    for (;;) {
      const failed = await fail({ channelId, longerThanSeconds, reason, limit: pageSize })
      for (const requestId of failed) logEvent(log, requestId, 'failed', { reason })
      metrics.ended.inc({ status: 'failed' }, failed.length)
      if (failed.length < pageSize) return
    }
  }
}

const longer = (streak: Streak | undefined, since: number): Streak => ({
  failures: (streak?.failures ?? 0) + 1,
  since: Math.min(streak?.since ?? since, since),
})

const isFailing = ({ failures, since }: Streak) =>
  failures >= mostFailures && performance.now() - since >= failingForMs

/** What a call says about the channel's provider; undefined where it wasn't asked. */
function healthOf(outcome: AttemptResult): 'alive' | 'failing' | undefined {
  if (outcome.outcome === 'not_called') return undefined
  if (outcome.outcome === 'sent') return 'alive'
  if (outcome.fault === 'provider') return 'failing'
  // Another's fault: an answer shows that the provider works. Without one it failed before, for example at its media.
  return outcome.providerStatus === undefined ? undefined : 'alive'
}
