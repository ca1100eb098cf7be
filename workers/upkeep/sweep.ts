import { failSendsOfDeletedChannels } from '../../db/accounts/deleted-channels.ts'
import { releaseLostClaims } from '../../db/callbacks/endpoint-claims.ts'
import type { Database } from '../../db/connection/client.ts'
import { foldCounts } from '../../db/counters/fold.ts'
import { expireSends } from '../../db/delivery/expiry.ts'
import type { FailedSend } from '../../db/delivery/fail-queued.ts'
import { findDeadWorkers, forgetDeadWorkers, type Sweeper } from '../../db/delivery/leases.ts'
import { findLostClaims, type LostClaim } from '../../db/delivery/lost-claims.ts'
import { retentionTrims } from '../../db/upkeep/retention.ts'
import { minuteMs } from '../../src/core/durations.ts'
import { decideLoss } from '../../src/core/sends/outcome.ts'
import type { WakeUp } from '../../src/core/sends/send-job.ts'
import { logEvent } from '../../src/platform/log/logger.ts'
import { createWakeEndpoints, type EndpointWaker } from '../../src/queue/wake-endpoints.ts'
import { createTolerantWake, createWakeLanes } from '../../src/queue/wake-sends.ts'
import type { Needs } from '../../src/runtime.ts'
import { createEndSends, type EndSends } from '../../src/sends/end-sends.ts'
import type { FallbackSettings, WithFallback } from '../../src/sends/fall-back.ts'
import { noteEffect } from '../../src/sends/record-receipts.ts'
import {
  createFollowEnd,
  noteFailure,
  noteFallback,
  noteRetry,
  type SendEnd,
  wakeUpsOf,
} from '../../src/sends/send-end.ts'
import { type RetrySettings, retryDelays } from '../providers/retry-delays.ts'
import { type WorkerTimes, workerTimes } from '../worker-times.ts'
import type { Heartbeat } from './heartbeat.ts'
import { type PeriodicTask, startPeriodicTask } from './periodic-task.ts'

export const pageSize = 500
/** Changes of counters are short, and one statement may append some hundred. A large page updates few rows for many changes. */
const foldedAtOnce = 50_000

/**
 * Maintains what deliveries leave: gives up the claims of dead workers, fails sends that have expired, whose channel was
 * deleted or whose contact is suppressed, adds up counters, and removes old data. Every worker does all of it, and skips rows that another one is changing.
 *
 * @param inFlight the sends that this worker is processing, and its claims of endpoints.
 */
export function startSweeps(
  runtime: Needs<
    'db' | 'log' | 'metrics' | 'shards',
    | RetrySettings
    | FallbackSettings
    | 'RETENTION_DAYS'
    | 'MEDIA_RETENTION_HOURS'
    | 'CALLBACK_RETENTION_DAYS'
    | 'AUDIT_RETENTION_DAYS'
  >,
  heartbeat: Pick<Heartbeat, 'worker' | 'maySweep' | 'sweepsUntil'>,
  inFlight: () => string[],
  { sweepEveryMs, foldEveryMs }: Pick<WorkerTimes, 'sweepEveryMs' | 'foldEveryMs'> = workerTimes,
): PeriodicTask {
  const { db, log, metrics, settings } = runtime
  const trims = retentionTrims({
    days: settings.RETENTION_DAYS,
    mediaHours: settings.MEDIA_RETENTION_HOURS,
    callbackDays: settings.CALLBACK_RETENTION_DAYS,
    auditDays: settings.AUDIT_RETENTION_DAYS,
  })
  const { worker } = heartbeat
  const { wakeHeadOf } = createWakeLanes(runtime)
  const wakeEndpoints = createWakeEndpoints(runtime)
  const followEnd = createFollowEnd(runtime, wakeEndpoints, wakeHeadOf)
  const { giveUpClaims, runSuppressionChecks } = createEndSends(runtime)
  const wake = createTolerantWake(runtime, 'fallback_not_woken')
  const loss = {
    db,
    log,
    metrics,
    retryDelaysOf: retryDelays(runtime),
    followEnd,
    wakeHeadOf,
    giveUpClaims,
    wake,
  }
  let looksForOrphansAt = 0
  const noteFailed = createNoteFailure(loss)
  const failingSweep = (failSome: (db: Database, limit: number) => Promise<FailedSend[]>) =>
    startPeriodicTask({ log, event: 'sweep_failed', pauseMs: sweepEveryMs }, async () => {
      const failed = await failSome(db, pageSize)
      noteFailed(failed)
      return failed.length < pageSize ? sweepEveryMs : 0
    })
  const sweeps = [
    startPeriodicTask({ log, event: 'sweep_failed', pauseMs: sweepEveryMs }, async () => {
      if (!heartbeat.maySweep()) return undefined
      const sweeper = { worker, inFlight: inFlight(), sweepsUntil: heartbeat.sweepsUntil() }
      const dead = (await findDeadWorkers(db)).filter((name) => name !== worker)
      // Once a minute, also looks for claims that were orphaned in another way.
      if (dead.length === 0 && performance.now() < looksForOrphansAt) return undefined
      await giveUpLostClaims(loss, sweeper)
      await releaseLostEndpoints(db, wakeEndpoints, sweeper)
      // Otherwise their claims may not have been given up yet.
      if (heartbeat.maySweep()) await forgetDeadWorkers(db, dead)
      looksForOrphansAt = performance.now() + minuteMs
      return undefined
    }),
    failingSweep(expireSends),
    failingSweep(failSendsOfDeletedChannels),
    startPeriodicTask({ log, event: 'sweep_failed', pauseMs: sweepEveryMs }, async () => {
      const { failed, isMore } = await runSuppressionChecks()
      noteFailed(failed)
      return isMore ? 0 : sweepEveryMs
    }),
    startPeriodicTask({ log, event: 'sweep_failed', pauseMs: foldEveryMs }, async () =>
      (await foldCounts(db, foldedAtOnce)) < foldedAtOnce ? foldEveryMs : 0,
    ),
    startPeriodicTask({ log, event: 'sweep_failed', pauseMs: minuteMs }, async () => {
      let isMoreLeft = false
      for (const [what, trim] of Object.entries(trims)) {
        const count = await trim(db, pageSize)
        if (count > 0) log.info({ event: 'trimmed', what, count })
        isMoreLeft ||= count === pageSize
      }
      return isMoreLeft ? 0 : minuteMs
    }),
  ]
  return {
    async stop() {
      await Promise.all(sweeps.map((sweep) => sweep.stop()))
    },
  }
}

function createNoteFailure(parts: Pick<LossParts, 'log' | 'metrics' | 'followEnd' | 'wake'>) {
  return (failed: readonly WithFallback<FailedSend>[]): void => {
    for (const send of failed) noteFailure(parts, send, parts.followEnd)
    void parts.wake(wakeUpsOf(failed))
  }
}

type LossParts = Needs<'db' | 'log' | 'metrics'> & {
  retryDelaysOf: (claim: LostClaim) => readonly number[]
  followEnd: (end: SendEnd) => void
  wakeHeadOf: (requestId: string) => Promise<void>
  giveUpClaims: EndSends['giveUpClaims']
  wake: (wakeUps: readonly WakeUp[]) => Promise<void>
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

/** It is unknown whether most of these sends' providers were called, so none is blindly sent again (docs/explanation/reliability.md). */
async function giveUpLostClaims(parts: LossParts, sweeper: Sweeper): Promise<void> {
  for (;;) {
    const claims = await findLostClaims(parts.db, sweeper, pageSize)
    if (claims.length === 0) return
    await giveUpPage(parts, sweeper, claims)
  }
}

async function giveUpPage(parts: LossParts, sweeper: Sweeper, claims: readonly LostClaim[]): Promise<void> {
  const { log, metrics, retryDelaysOf, followEnd, wakeHeadOf, giveUpClaims, wake } = parts
  const verdicts = claims.map((claim) => {
    const { requestId, claimId, attempt, onUncertain, mayHaveCalled, provider, channelId } = claim
    const verdict = decideLoss(claim, {
      retryDelaysSeconds: retryDelaysOf(claim),
      onUncertain,
      random: Math.random(),
    })
    const mayFallBack = claim.hasFallback ? { requestId, channelId, provider } : undefined
    return {
      requestId,
      claimId,
      attempt,
      mayHaveCalled,
      provider,
      delayMs: undefined,
      ...verdict,
      mayFallBack,
    }
  })
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
