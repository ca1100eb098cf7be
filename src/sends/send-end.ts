import { ownReasons } from '../core/sends/own-reasons.ts'
import type { SendStatus } from '../core/sends/timeline.ts'
import { causeOfReason } from '../core/suppression/suppression.ts'
import { type Logger, logEvent } from '../platform/log/logger.ts'
import type { Metrics } from '../platform/metrics.ts'

type EndStatus = Exclude<SendStatus, 'queued' | 'sending'>
/** Who canceled a send. */
type Canceler = { accountId: string } | { by: string }

/** A send that has ended, whatever has ended it (db/delivery/change-state.ts). */
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

/** What follows the end of a send: its log line, its count, and the wake-ups of its endpoints and of the head of its lane. */
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
