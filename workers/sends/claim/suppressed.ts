import type { Refusal } from '../../../db/delivery/refusals.ts'
import { retryUntilAvailable } from '../../../src/platform/retry-until-available.ts'
import type { Needs } from '../../../src/runtime.ts'
import { createEndSends } from '../../../src/sends/end-sends.ts'
import type { FallbackSettings } from '../../../src/sends/fall-back.ts'
import { noteFailure } from '../../../src/sends/send-end.ts'

/**
 * Fails those of the refused sends whose contact is suppressed. The reconciler wakes the endpoints.
 *
 * @returns a function that returns the refusals as they are then.
 */
export function createFailSuppressed(
  runtime: Needs<'db' | 'log' | 'metrics', FallbackSettings>,
): (refusals: Refusal[]) => Promise<Refusal[]> {
  const fail = retryUntilAvailable(runtime.log, createEndSends(runtime).failSuppressed)
  return async (refusals) => {
    const suppressed = refusals.filter(({ isSuppressed }) => isSuppressed)
    if (suppressed.length === 0) return refusals
    const failed = await fail(suppressed)
    for (const send of failed) noteFailure(runtime, send)
    const hasFailed = new Set(failed.map(({ requestId }) => requestId))
    return refusals.map((refusal) => {
      if (!refusal.isSuppressed) return refusal
      // Another statement had locked its row: it is looked at again.
      const dueInMs = hasFailed.has(refusal.requestId) ? null : 0
      return { ...refusal, dueInMs, wakesLaneHead: true, waitsForPermitOf: null }
    })
  }
}
