import { isRowFault } from '../../db/connection/errors.ts'
import type { RecordedRow } from '../../db/delivery/outcomes.ts'
import { awaitReceipts } from '../../db/receipts/awaited-receipts.ts'
import { type AttemptOutcome, decide, decideLate, tidy } from '../../src/core/sends/outcome.ts'
import type { AttemptRecord } from '../../src/core/sends/timeline.ts'
import { logEvent } from '../../src/platform/log/logger.ts'
import type { Metrics } from '../../src/platform/metrics.ts'
import { MicroBatch } from '../../src/platform/micro-batch.ts'
import { retryUntilAvailable } from '../../src/platform/retry-until-available.ts'
import { findProvider } from '../../src/providers/known.ts'
import type { Needs } from '../../src/runtime.ts'
import { channelMoments } from '../../src/sends/channel-moments.ts'
import { createEndSends, type EndSends } from '../../src/sends/end-sends.ts'
import type { FallbackResult, FallbackSettings, WithFallback } from '../../src/sends/fall-back.ts'
import { noteEffect } from '../../src/sends/record-receipts.ts'
import { noteEnd, noteFailure, noteFallback, noteRetry } from '../../src/sends/send-end.ts'
import { type RetrySettings, retryDelays } from '../providers/retry-delays.ts'
import { createSuppress } from './record-outcome/suppress.ts'
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

/** The state of a send whose provider said by a receipt, during the call, that it has the message. */
const sentByReceipt = { status: 'sent', reason: undefined, delayMs: undefined } as const

/** Decides the send's next state after an attempt, commits it, and logs it. */
export function createRecordOutcome(
  runtime: Needs<'db' | 'clock' | 'log' | 'metrics', RetrySettings | FallbackSettings>,
) {
  const { db, clock, log, metrics } = runtime
  const firstOfChannels = channelMoments(log, 'first', (moments) => awaitReceipts(db, moments))
  const retryDelaysOf = retryDelays(runtime)
  const { recordOutcomes, recordLateOutcome } = createEndSends(runtime)
  const recordLate = createRecordLate(runtime, recordLateOutcome)
  const suppress = createSuppress(runtime)
  const outcomes = new MicroBatch<
    Parameters<typeof recordOutcomes>[0][number],
    WithFallback<RecordedRow> | undefined
  >({
    maxItems: maxOutcomesPerFlush,
    isItemsFault: isRowFault,
    flush: retryUntilAvailable(log, async (batch) => {
      metrics.outcomeBatch.observe(batch.length)
      const recorded = new Map((await recordOutcomes(batch)).map((row) => [row.requestId, row]))
      return batch.map(({ requestId }) => recorded.get(requestId))
    }),
  })

  return async (send: EnteredSend, timed: TimedOutcome): Promise<RecordedOutcome> => {
    const outcome = tidy(timed.outcome)
    const {
      requestId,
      channelId,
      provider,
      attempt,
      attemptsBeforeReplay,
      claimId,
      sealedConfig,
      onUncertain,
    } = send
    const rules = { retryDelaysSeconds: retryDelaysOf(send), onUncertain, random: Math.random() }
    const verdict = { ...verdictDefaults, ...decide(outcome, attempt - attemptsBeforeReplay, rules) }
    const { holdsChannel } = verdict
    const record = recordOf(attempt, outcome, timed.durationMs)
    await suppress(send, outcome)
    const recorded = await outcomes.add({
      requestId,
      claimId,
      record,
      ...verdict,
      sealedConfig: holdsChannel ? sealedConfig : undefined,
      isFoundById: isFoundById(send),
      mayFallBack: send.hasFallback ? { requestId, channelId, provider } : undefined,
    })
    if (!recorded) {
      const late = await recordLate(send, outcome, record)
      return { send, outcome: timed, isLate: true, delayMs: undefined, nextInLane: null, ...late }
    }

    logEvent(log, requestId, 'attempt_finished', record)
    if (holdsChannel) logEvent(log, requestId, 'channel_held', { reason: verdict.reason, channelId })
    const { receipts, nextAttemptAt, nextInLane, fallback } = recorded
    const { status, reason, delayMs } = receipts?.confirm ? sentByReceipt : verdict
    const fellBackTo = channelOf(fallback)
    // The wake-ups follow in `createWakeNext`.
    if (status === 'failed') noteFailure(runtime, { requestId, reason, fallback })
    else if (status !== 'queued') noteEnd(runtime, { requestId, status, fields: { reason } })
    else if (!holdsChannel) noteRetry(runtime, requestId, { reason, nextAttemptAt })
    if (status === 'sent' && reportsEach(send)) firstOfChannels.note(channelId, new Date(clock.nowMs()))
    for (const effect of receipts?.effects ?? []) noteEffect(runtime, provider, requestId, effect)
    if (fallback && status === 'sent') noteFallback(runtime, fallback)
    if (status === 'sent') observeTime(metrics, send, recorded)
    const endpointsToWake = recorded.endpointsToWake ?? []
    return { send, outcome: timed, isLate: false, delayMs, nextInLane, fellBackTo, endpointsToWake }
  }
}

/** Whether the provider sends a receipt for each message, on channels that take receipts. */
function reportsEach({ provider }: EnteredSend): boolean {
  return findProvider(provider)?.receipts?.areForEach === true
}

/** Whether the provider's receipts have only its own id of a message. */
function isFoundById({ provider }: Pick<EnteredSend, 'provider'>): boolean {
  return findProvider(provider)?.receipts?.foundById === true
}

/** Records outcomes whose claims were given up because this worker counted as dead. */
function createRecordLate(
  runtime: Needs<'log' | 'metrics'>,
  recordLateOutcome: EndSends['recordLateOutcome'],
) {
  const { log } = runtime
  const record = retryUntilAvailable(log, recordLateOutcome)
  return async (
    { requestId, channelId, claimId, provider, hasFallback }: EnteredSend,
    outcome: AttemptOutcome,
    attemptRecord: AttemptRecord,
  ): Promise<Pick<RecordedOutcome, 'fellBackTo' | 'endpointsToWake'>> => {
    const late: AttemptRecord = { ...attemptRecord, late: true }
    const verdict = decideLate(outcome)
    const mayFallBack = hasFallback ? { requestId, channelId, provider } : undefined
    const settled = await record({
      ...{ requestId, channelId, claimId, verdict, mayFallBack },
      record: late,
      isFoundById: isFoundById({ provider }),
    })
    logEvent(log, requestId, 'attempt_finished', late)
    const { status, isEnded, fallback, endpointsToWake } = settled ?? {}
    const end = { requestId, reason: late.reason, fallback }
    if (isEnded && status === 'failed') noteFailure(runtime, end)
    else if (fallback) noteFallback(runtime, fallback)
    if (isEnded && status === 'sent') noteEnd(runtime, { requestId, status, fields: {} })
    return { fellBackTo: channelOf(fallback), endpointsToWake: endpointsToWake ?? [] }
  }
}

const channelOf = (fallback: FallbackResult | undefined) =>
  fallback?.result === 'fell_back' ? fallback.toChannelId : undefined

function observeTime(
  { acceptToSent }: Metrics,
  { provider, priority, attemptsBeforeReplay }: EnteredSend,
  { tookSeconds }: RecordedRow,
): void {
  const isNewSeries = attemptsBeforeReplay > 0
  if (tookSeconds !== null && !isNewSeries) acceptToSent.observe({ provider, priority }, tookSeconds)
}

function recordOf(attempt: number, outcome: AttemptOutcome, durationMs: number): AttemptRecord {
  return {
    attempt,
    outcome: outcome.outcome,
    durationMs,
    providerStatus: outcome.providerStatus ?? null,
    providerCode: outcome.providerCode ?? null,
    providerMessageId: outcome.outcome === 'sent' ? (outcome.providerMessageId ?? null) : null,
    ...('cost' in outcome && outcome.cost && { cost: outcome.cost }),
    ...('fault' in outcome && { fault: outcome.fault }),
    ...(outcome.outcome !== 'sent' && { reason: outcome.reason }),
  }
}
