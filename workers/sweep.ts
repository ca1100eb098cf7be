import { expireSends } from '../db/expiry.ts'
import { findLostClaims, type GivenUp, giveUpClaims, type LostClaim } from '../db/lost-claims.ts'
import { retentionTrims } from '../db/retention.ts'
import { findDeadWorkers, forgetDeadWorkers } from '../db/workers.ts'
import { judgeLoss } from '../src/core/outcome.ts'
import { logEvent } from '../src/platform/logger.ts'
import { addWakeUps } from '../src/platform/queue.ts'
import type { Runtime } from '../src/platform/runtime.ts'
import type { Heartbeat } from './heartbeat.ts'
import { type Rounds, startRounds } from './rounds.ts'

const secondMs = 1000
const minuteMs = 60_000
const pageSize = 500

/**
 * What has to be done beside the deliveries: give up the claims of workers that died, fail what has expired, remove
 * what is old. Every worker does all of it; what one is changing, the others pass by.
 */
export function startSweeps(runtime: Runtime, heartbeat: Heartbeat): Rounds {
  const { db, log, settings } = runtime
  const trims = retentionTrims({ days: settings.RETENTION_DAYS, mediaHours: settings.MEDIA_RETENTION_HOURS })
  let looksForUnknownAt = 0
  const sweeps = [
    startRounds({ log, event: 'sweep_failed', pauseMs: secondMs }, async () => {
      if (!heartbeat.canJudgeOthers()) return
      const dead = await findDeadWorkers(db)
      // Claims of workers that left no row are looked for now and then.
      if (dead.length === 0 && Date.now() < looksForUnknownAt) return
      await giveUpLostClaims(runtime)
      await forgetDeadWorkers(db, dead)
      looksForUnknownAt = Date.now() + minuteMs
    }),
    startRounds({ log, event: 'sweep_failed', pauseMs: secondMs }, async () => {
      const expired = await expireSends(db, pageSize)
      for (const requestId of expired) logEvent(log, requestId, 'failed', { reason: 'expired' })
      return expired.length < pageSize ? secondMs : 0
    }),
    ...Object.entries(trims).map(([what, trim]) =>
      startRounds({ log, event: 'sweep_failed', pauseMs: minuteMs }, async () => {
        const trimmed = await trim(db, pageSize)
        if (trimmed > 0) log.info({ event: 'trimmed', what, count: trimmed })
        return trimmed < pageSize ? minuteMs : 0
      }),
    ),
  ]
  return {
    async stop() {
      await Promise.all(sweeps.map((sweep) => sweep.stop()))
    },
  }
}

/** Nobody knows whether their providers were called: such sends are never simply sent again (docs/reliability.md). */
async function giveUpLostClaims(runtime: Runtime): Promise<void> {
  for (;;) {
    const claims = await findLostClaims(runtime.db, pageSize)
    if (claims.length === 0) return
    await giveUp(runtime, claims)
  }
}

async function giveUp({ db, log, settings, queue }: Runtime, claims: readonly LostClaim[]): Promise<void> {
  const retryDelaysSeconds = settings.RETRY_DELAYS_SECONDS
  const verdicts = claims.map((claim): GivenUp => {
    const { requestId, claimId, onUncertain } = claim
    const verdict = judgeLoss(claim, { retryDelaysSeconds, onUncertain, random: Math.random() })
    return { requestId, claimId, delayMs: undefined, ...verdict }
  })
  const givenUp = new Map((await giveUpClaims(db, verdicts)).map((row) => [row.requestId, row]))
  for (const [index, { requestId, status, reason }] of verdicts.entries()) {
    const row = givenUp.get(requestId)
    if (!row) continue
    logEvent(log, requestId, 'attempt_lost', { attempt: claims[index]?.attempt, reason })
    if (status === 'queued')
      logEvent(log, requestId, 'retry_scheduled', { reason, nextAttemptAt: row.nextAttemptAt })
    else logEvent(log, requestId, status, { reason })
  }
  const queued = verdicts.filter(({ requestId, status }) => status === 'queued' && givenUp.has(requestId))
  await addWakeUps(
    queue,
    queued.map(({ requestId }) => requestId),
  )
}
