import { ownReasons } from '../core/own-reasons.ts'
import type { SendStatus } from '../core/timeline.ts'
import { type Logger, logEvent } from './logger.ts'

/** Logs the end of a send that was canceled, by the name that it has in the timeline. */
export function logCanceled(
  log: Logger,
  requestId: string,
  status: SendStatus,
  who: { accountId: string } | { by: string },
): void {
  if (status === 'uncertain') logEvent(log, requestId, 'uncertain', { reason: ownReasons.canceledInDoubt })
  else logEvent(log, requestId, 'canceled', who)
}
