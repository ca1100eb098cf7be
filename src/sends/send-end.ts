import { ownReasons } from '../core/sends/own-reasons.ts'
import type { WakeUp } from '../core/sends/send-job.ts'
import type { SendStatus } from '../core/sends/timeline.ts'
import { causeOfReason } from '../core/suppression/suppression.ts'
import { type Logger, logEvent } from '../platform/log/logger.ts'
import type { Metrics } from '../platform/metrics.ts'
import type { Needs } from '../runtime.ts'
import type { FallbackResult, WithFallback } from './fall-back.ts'

type EndStatus = Exclude<SendStatus, 'queued' | 'sending'>
/** Who canceled a send. */
type Canceler = { accountId: string } | { by: string }

/** A send that has ended, whatever has ended it. */
export interface SendEnd<Status extends EndStatus = EndStatus> {
  requestId: string
  status: Status
  /** The fields of its log line. */
  fields: { reason?: string | null | undefined } | Canceler
  /** The endpoints that get a callback about it, and may be called now. Without them, the reconciler finds them. */
  endpointsToWake?: readonly string[] | null | undefined
}

/** The end of a canceled send, by the name that it has in the timeline. */
export function cancelEnd(
  requestId: string,
  { status, endpointsToWake }: Pick<SendEnd<'canceled' | 'uncertain'>, 'status' | 'endpointsToWake'>,
  canceler: Canceler,
): SendEnd {
  const fields = status === 'uncertain' ? { reason: ownReasons.canceledInDoubt } : canceler
  return { requestId, status, fields, endpointsToWake }
}

export function logEnd(log: Logger, { requestId, status, fields }: SendEnd): void {
  logEvent(log, requestId, status, fields)
}

interface Noting {
  log: Logger
  metrics: Pick<Metrics, 'ended' | 'retries' | 'suppressed'>
}

/** Logs and counts the end of a send. The caller wakes what waits for it; `createFollowEnd` does both. */
export function noteEnd({ log, metrics }: Noting, end: SendEnd): void {
  logEnd(log, end)
  metrics.ended.inc({ status: end.status })
  const cause = 'reason' in end.fields ? causeOfReason(end.fields.reason ?? '') : undefined
  if (cause) metrics.suppressed.inc({ cause })
}

/** Logs and counts that a send is tried again. */
export function noteRetry(
  { log, metrics }: Noting,
  requestId: string,
  fields: { reason: string | undefined; nextAttemptAt: Date | null | undefined },
): void {
  logEvent(log, requestId, 'retry_scheduled', fields)
  metrics.retries.inc()
}

/** Creates the step after the end of a send: its log line, its count, and the wake-ups of its endpoints and of the head of its lane. */
export function createFollowEnd(
  noting: Noting,
  wakeEndpoints: (endpointIds: readonly string[]) => void,
  wakeHeadOf: (requestId: string) => Promise<void>,
) {
  return (end: SendEnd): void => {
    noteEnd(noting, end)
    wakeEndpoints(end.endpointsToWake ?? [])
    // Not awaited, because Redis may be down; the reconciler adds missing wake-ups.
    void wakeHeadOf(end.requestId)
  }
}

/** Logs and counts the result of a send that ended on a channel with a fallback. */
export function noteFallback({ log, metrics }: Needs<'log' | 'metrics'>, fallback: FallbackResult): void {
  const { requestId, from, to, result } = fallback
  metrics.fallbacks.inc({ from, to, result })
  if (fallback.result !== 'fell_back') return
  const { fromChannelId, toChannelId, reason } = fallback
  logEvent(log, requestId, 'fell_back', { fromChannelId, toChannelId, reason })
}

/** The wake-ups of those that fell back. */
export const wakeUpsOf = (ended: readonly WithFallback<unknown>[]): WakeUp[] =>
  ended.flatMap(({ fallback }) => (fallback?.result === 'fell_back' ? [fallback.wakeUp] : []))

/** Logs and counts that a send failed, or its fallback instead. @param follow what to do if it has ended. */
export function noteFailure(
  runtime: Needs<'log' | 'metrics'>,
  { requestId, reason, fallback }: WithFallback<{ requestId: string; reason: string | null | undefined }>,
  follow = (end: SendEnd) => noteEnd(runtime, end),
): void {
  if (fallback) noteFallback(runtime, fallback)
  if (fallback?.result === 'fell_back') return
  follow({ requestId, status: 'failed', fields: { reason: fallback?.reason ?? reason } })
}
