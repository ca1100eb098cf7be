import { isValueFault } from '../db/errors.ts'
import { type AttemptOutcome, recordOutcomes } from '../db/sends.ts'
import { judge, type Outcome, tidy } from '../src/core/outcome.ts'
import type { AttemptRecord } from '../src/core/timeline.ts'
import { logEvent } from '../src/platform/logger.ts'
import { MicroBatch } from '../src/platform/micro-batch.ts'
import type { Runtime } from '../src/platform/runtime.ts'
import type { EnteredSend, NextWakeUp } from './deliver.ts'
import type { Attempt } from './dispatch.ts'
import { patient } from './patience.ts'

const maxOutcomesPerFlush = 200

/** What a verdict leaves out. */
const nothingMore = { reason: undefined, delayMs: undefined, holdsChannel: false }

type Recorded = { nextAttemptAt: Date | null } | undefined

/** Decides what follows from an attempt, commits it, and tells the log and the queue. */
export function outcomeRecorder({ db, log, settings }: Runtime) {
  const outcomes = new MicroBatch<AttemptOutcome, Recorded>({
    maxItems: maxOutcomesPerFlush,
    isItemsFault: isValueFault,
    flush: patient(log, async (batch) => {
      const recorded = new Map((await recordOutcomes(db, batch)).map((row) => [row.requestId, row]))
      return batch.map(({ requestId }) => recorded.get(requestId))
    }),
  })

  return async (send: EnteredSend, { outcome: told, durationMs }: Attempt): Promise<NextWakeUp> => {
    const outcome = tidy(told)
    const { requestId, attempt, claimId, sealedConfig, onUncertain } = send
    const { RETRY_DELAYS_SECONDS: retryDelaysSeconds } = settings
    const verdict = judge(outcome, attempt, { retryDelaysSeconds, onUncertain, random: Math.random() })
    const record = recordOf(attempt, outcome, durationMs)
    const { status, reason, delayMs, holdsChannel } = { ...nothingMore, ...verdict }
    const recorded = await outcomes.add({
      requestId,
      claimId,
      status,
      record,
      reason,
      delayMs,
      holdsChannel,
      sealedConfig: holdsChannel ? sealedConfig : undefined,
    })

    logEvent(log, requestId, 'attempt_finished', record)
    if (!recorded) log.warn({ requestId, event: 'outcome_too_late' }, 'the claim no longer held')
    else if (holdsChannel) logEvent(log, requestId, 'channel_held', { reason, channelId: send.channelId })
    else if (status !== 'queued') logEvent(log, requestId, status, { reason })
    else logEvent(log, requestId, 'retry_scheduled', { reason, nextAttemptAt: recorded.nextAttemptAt })
    return { wakeInMs: delayMs }
  }
}

function recordOf(attempt: number, outcome: Outcome, durationMs: number): AttemptRecord {
  return {
    attempt,
    outcome: outcome.outcome,
    durationMs,
    providerStatus: outcome.providerStatus ?? null,
    providerCode: outcome.providerCode ?? null,
    providerMessageId: outcome.outcome === 'sent' ? (outcome.providerMessageId ?? null) : null,
    ...(outcome.outcome !== 'sent' && { reason: outcome.reason }),
  }
}
