import { releaseLostClaims } from '../../db/callbacks/endpoint-claims.ts'
import type { Database } from '../../db/connection/client.ts'
import { findDeadWorkers, forgetDeadWorkers, type Sweeper } from '../../db/delivery/leases.ts'
import { findLostClaims, type LostClaim } from '../../db/delivery/lost-claims.ts'
import { minuteMs } from '../../src/core/durations.ts'
import { decideLoss } from '../../src/core/sends/outcome.ts'
import { logEvent } from '../../src/platform/log/logger.ts'
import { createWakeEndpoints, type EndpointWaker } from '../../src/queue/wake-endpoints.ts'
import { createTolerantWake, createWakeLanes } from '../../src/queue/wake-sends.ts'
import type { Needs } from '../../src/runtime.ts'
import { createEndSends } from '../../src/sends/end-sends.ts'
import type { FallbackSettings } from '../../src/sends/fall-back.ts'
import { noteEffect } from '../../src/sends/record-receipts.ts'
import { createFollowEnd, noteFallback, noteRetry, wakeUpsOf } from '../../src/sends/send-end.ts'
import { type RetrySettings, retryDelays } from '../providers/retry-delays.ts'
import type { WorkerTimes } from '../worker-times.ts'
import type { Heartbeat } from './heartbeat.ts'
import { pageSize } from './page-size.ts'
import { type PeriodicTask, startPeriodicTask } from './periodic-task.ts'

type Needed = Needs<'db' | 'log' | 'metrics' | 'shards', RetrySettings | FallbackSettings>

/**
 * Gives up the claims of dead workers, on sends and on endpoints, then forgets the workers. Once a minute, it also looks for claims
 * that were orphaned in another way.
 *
 * @param inFlight the sends that this worker is processing, and its claims of endpoints.
 */
export function startGivingUpClaims(
  runtime: Needed,
  heartbeat: Pick<Heartbeat, 'worker' | 'maySweep' | 'sweepsUntil'>,
  inFlight: () => string[],
  { sweepEveryMs }: Pick<WorkerTimes, 'sweepEveryMs'>,
): PeriodicTask {
  const { db, log } = runtime
  const { worker } = heartbeat
  const wakeEndpoints = createWakeEndpoints(runtime)
  const giveUpPage = createGiveUpPage(runtime, wakeEndpoints)
  let looksForOrphansAt = 0
  return startPeriodicTask({ log, event: 'give_up_claims_failed', pauseMs: sweepEveryMs }, async () => {
    if (!heartbeat.maySweep()) return undefined
    const sweeper = { worker, inFlight: inFlight(), sweepsUntil: heartbeat.sweepsUntil() }
    const dead = (await findDeadWorkers(db)).filter((name) => name !== worker)
    if (dead.length === 0 && performance.now() < looksForOrphansAt) return undefined
    await giveUpLostClaims(db, sweeper, giveUpPage)
    await releaseLostEndpoints(db, wakeEndpoints, sweeper)
    // Otherwise their claims may not have been given up yet.
    if (heartbeat.maySweep()) await forgetDeadWorkers(db, dead)
    looksForOrphansAt = performance.now() + minuteMs
    return undefined
  })
}

async function releaseLostEndpoints(
  db: Database,
  wakeEndpoints: EndpointWaker,
  sweeper: Sweeper,
): Promise<void> {
  for (;;) {
    const endpointIds = await releaseLostClaims(db, sweeper, pageSize)
    wakeEndpoints(endpointIds)
    if (endpointIds.length < pageSize) return
  }
}

async function giveUpLostClaims(db: Database, sweeper: Sweeper, giveUpPage: GiveUpPage): Promise<void> {
  for (;;) {
    const claims = await findLostClaims(db, sweeper, pageSize)
    if (claims.length === 0) return
    await giveUpPage(sweeper, claims)
  }
}

type GiveUpPage = (sweeper: Sweeper, claims: readonly LostClaim[]) => Promise<void>

/** It is unknown whether most of these sends' providers were called, so none is blindly sent again (docs/explanation/reliability.md). */
function createGiveUpPage(runtime: Needed, wakeEndpoints: EndpointWaker): GiveUpPage {
  const { log, metrics } = runtime
  const decide = createDecide(retryDelays(runtime))
  const { wakeHeadOf } = createWakeLanes(runtime)
  const followEnd = createFollowEnd(runtime, wakeEndpoints, wakeHeadOf)
  const { giveUpClaims } = createEndSends(runtime)
  const wake = createTolerantWake(runtime, 'fallback_not_woken')

  return async (sweeper, claims) => {
    const verdicts = claims.map(decide)
    const rows = await giveUpClaims(sweeper, verdicts)
    const givenUp = new Map(rows.map((row) => [row.requestId, row]))
    const ours = verdicts.filter(({ requestId }) => givenUp.has(requestId))
    for (const { requestId, attempt, mayHaveCalled, reason, provider, ...verdict } of ours) {
      const { nextAttemptAt, receipts, endpointsToWake, fallback } = givenUp.get(requestId) ?? {}
      const outcome = mayHaveCalled ? {} : { outcome: 'not_called' as const }
      logEvent(log, requestId, 'attempt_lost', { attempt, ...outcome, reason })
      metrics.lostClaims.inc()
      const status = receipts?.confirm ? 'sent' : verdict.status
      if (status === 'queued') {
        noteRetry({ log, metrics }, requestId, { reason, nextAttemptAt })
        void wakeHeadOf(requestId)
      } else followEnd({ requestId, status, fields: status === 'sent' ? {} : { reason }, endpointsToWake })
      for (const effect of receipts?.effects ?? []) noteEffect({ log, metrics }, provider, requestId, effect)
      if (fallback) noteFallback({ log, metrics }, fallback)
    }
    void wake(wakeUpsOf(rows))
  }
}

const createDecide = (retryDelaysOf: ReturnType<typeof retryDelays>) => (claim: LostClaim) => {
  const { requestId, claimId, attempt, onUncertain, mayHaveCalled, provider, channelId, hasFallback } = claim
  const retryDelaysSeconds = retryDelaysOf(claim)
  const verdict = decideLoss(claim, { retryDelaysSeconds, onUncertain, random: Math.random() })
  const mayFallBack = hasFallback ? { requestId, channelId, provider } : undefined
  return { requestId, claimId, attempt, mayHaveCalled, provider, delayMs: undefined, ...verdict, mayFallBack }
}
