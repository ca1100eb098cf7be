import { postponeSends } from '../../../db/delivery/postpone.ts'
import type { Refusal } from '../../../db/delivery/refusals.ts'
import { logEvent } from '../../../src/platform/log/logger.ts'
import { retryUntilAvailable } from '../../../src/platform/retry-until-available.ts'
import type { Needs } from '../../../src/runtime.ts'

/** @returns a function that postpones those of the refused sends that are due in quiet hours or would pass a ceiling, and returns the refusals as they are then. */
export function createPostpone({
  db,
  log,
}: Needs<'db' | 'log'>): (refusals: Refusal[]) => Promise<Refusal[]> {
  const postpone = retryUntilAvailable(log, (requestIds: string[]) => postponeSends(db, requestIds))
  return async (refusals) => {
    const due = refusals.filter(({ isToPostpone }) => isToPostpone)
    if (due.length === 0) return refusals
    const postponed = await postpone(due.map(({ requestId }) => requestId))
    for (const { requestId, reason, nextAttemptAt } of postponed)
      logEvent(log, requestId, 'postponed', { reason, nextAttemptAt })
    const dueInMs = new Map(postponed.map(({ requestId, inMs }) => [requestId, inMs]))
    return refusals.map((refusal) => ({
      ...refusal,
      dueInMs: dueInMs.get(refusal.requestId) ?? refusal.dueInMs,
    }))
  }
}
