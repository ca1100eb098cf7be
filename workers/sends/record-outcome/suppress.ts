import { v7 as uuidv7 } from 'uuid'
import { type SuppressedBySend, suppressContacts } from '../../../db/suppression/by-sends.ts'
import type { AttemptOutcome } from '../../../src/core/sends/outcome.ts'
import { causeOfSign, suppressingSignOf } from '../../../src/core/suppression/suppression.ts'
import { retryUntilAvailable } from '../../../src/platform/retry-until-available.ts'
import { findProvider } from '../../../src/providers/known.ts'
import type { Needs } from '../../../src/runtime.ts'
import type { EnteredSend } from '../send-states.ts'

/**
 * Suppresses the contact of a send whose provider says that it can't be reached, or wants nothing. Before the outcome is recorded: a
 * worker that dies in between leaves an entry, not a contact that gets the next send.
 */
export function createSuppress({ db, log, metrics }: Needs<'db' | 'log' | 'metrics'>) {
  const suppress = retryUntilAvailable(log, (given: SuppressedBySend) => suppressContacts(db, [given]))
  return async ({ requestId, channelId, provider }: EnteredSend, outcome: AttemptOutcome): Promise<void> => {
    if (outcome.outcome !== 'rejected') return
    const rules = findProvider(provider)
    const sign = suppressingSignOf(outcome, rules?.suppressingCodes)
    if (sign === null) return
    metrics.contactsRefused.inc({ provider, cause: causeOfSign(sign) })
    const reason = rules?.meaningOf(outcome) ?? null
    await suppress({ id: uuidv7(), requestId, channelIds: [channelId], sign, reason })
  }
}
