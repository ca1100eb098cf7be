import { type LateOutcome, recordLateOutcome } from '../../db/delivery/late-outcomes.ts'
import { type OutcomeRow, type RecordedRow, recordOutcomes } from '../../db/delivery/outcomes.ts'
import { isRowFault } from '../../db/errors.ts'
import { type AttemptOutcome, decide, decideLate, tidy } from '../../src/core/outcome.ts'
import type { AttemptRecord } from '../../src/core/timeline.ts'
import { logEvent } from '../../src/platform/logger.ts'
import type { Metrics } from '../../src/platform/metrics.ts'
import { MicroBatch } from '../../src/platform/micro-batch.ts'
import type { Needs } from '../../src/runtime.ts'
import { retryUntilAvailable } from '../retry-until-available.ts'
import type { EnteredSend, RecordedOutcome, TimedOutcome } from './send-states.ts'

const maxOutcomesPerFlush = 200

/** Defaults of the optional fields of a verdict. */
const verdictDefaults = {
  reason: undefined,
  delayMs: undefined,
  isUncounted: false,
  keepsDueTime: false,
  holdsChannel: false,
}

/** Decides the send's next state after an attempt, commits it, and logs it. */
export function outcomeRecorder(runtime: Needs<'db' | 'log' | 'metrics', 'RETRY_DELAYS_SECONDS'>) {
  const { db, log, metrics, settings } = runtime
  const recordLate = lateRecorder(runtime)
  const outcomes = new MicroBatch<OutcomeRow, RecordedRow | undefined>({
    maxItems: maxOutcomesPerFlush,
    isItemsFault: isRowFault,
    flush: retryUntilAvailable(log, async (batch) => {
      metrics.outcomeBatch.observe(batch.length)
      const recorded = new Map((await recordOutcomes(db, batch)).map((row) => [row.requestId, row]))
      return batch.map(({ requestId }) => recorded.get(requestId))
    }),
  })

  return async (send: EnteredSend, timed: TimedOutcome): Promise<RecordedOutcome> => {
    const outcome = tidy(timed.outcome)
    const { requestId, attempt, attemptsBeforeReplay, claimId, sealedConfig, onUncertain } = send
    const { RETRY_DELAYS_SECONDS: retryDelaysSeconds } = settings
    const rules = { retryDelaysSeconds, onUncertain, random: Math.random() }
    const verdict = { ...verdictDefaults, ...decide(outcome, attempt - attemptsBeforeReplay, rules) }
    const { status, reason, delayMs, holdsChannel } = verdict
    const record = recordOf(attempt, outcome, timed.durationMs)
    const configUsed = holdsChannel ? sealedConfig : undefined
    const recorded = await outcomes.add({ requestId, claimId, record, ...verdict, sealedConfig: configUsed })
    if (!recorded) {
      await recordLate(send, outcome, record)
      return { send, outcome: timed, isLate: true, delayMs: undefined, nextInLane: null }
    }

    logEvent(log, requestId, 'attempt_finished', record)
    if (holdsChannel) logEvent(log, requestId, 'channel_held', { reason, channelId: send.channelId })
    else if (status !== 'queued') logEvent(log, requestId, status, { reason })
    else logEvent(log, requestId, 'retry_scheduled', { reason, nextAttemptAt: recorded.nextAttemptAt })
    count(metrics, send, verdict, recorded)
    return { send, outcome: timed, isLate: false, delayMs, nextInLane: recorded.nextInLane }
  }
}

/** Records an outcome whose claim was given up because this worker counted as dead. */
function lateRecorder({ db, log, metrics }: Needs<'db' | 'log' | 'metrics'>) {
  const record = retryUntilAvailable(log, (late: LateOutcome) => recordLateOutcome(db, late))
  return async (
    { requestId, claimId }: EnteredSend,
    outcome: AttemptOutcome,
    attemptRecord: AttemptRecord,
  ): Promise<void> => {
    const late: AttemptRecord = { ...attemptRecord, late: true }
    const verdict = decideLate(outcome)
    const status = await record({ requestId, claimId, record: late, verdict })
    logEvent(log, requestId, 'attempt_finished', late)
    if (status) logEvent(log, requestId, status, { reason: late.reason })
    if (status) metrics.ended.inc({ status })
  }
}

function count(
  { ended, retries, acceptToSent }: Metrics,
  { provider, attemptsBeforeReplay }: EnteredSend,
  { status, holdsChannel }: Pick<OutcomeRow, 'status' | 'holdsChannel'>,
  { tookSeconds }: RecordedRow,
): void {
  const isReplay = attemptsBeforeReplay > 0
  if (status !== 'queued') ended.inc({ status })
  else if (!holdsChannel) retries.inc()
  if (status === 'sent' && tookSeconds !== null && !isReplay) acceptToSent.observe({ provider }, tookSeconds)
}

function recordOf(attempt: number, outcome: AttemptOutcome, durationMs: number): AttemptRecord {
  return {
    attempt,
    outcome: outcome.outcome,
    durationMs,
    providerStatus: outcome.providerStatus ?? null,
    providerCode: outcome.providerCode ?? null,
    providerMessageId: outcome.outcome === 'sent' ? (outcome.providerMessageId ?? null) : null,
    ...('fault' in outcome && { fault: outcome.fault }),
    ...(outcome.outcome !== 'sent' && { reason: outcome.reason }),
  }
}
