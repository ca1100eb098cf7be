import { v7 as uuidv7 } from 'uuid'
import { type Claim, type ClaimedSend, claimSends, reclaimSends } from '../db/claims.ts'
import { findRefusals, type Refusal } from '../db/due-sends.ts'
import { isRowFault } from '../db/errors.ts'
import { logEvent } from '../src/platform/logger.ts'
import { MicroBatch } from '../src/platform/micro-batch.ts'
import type { Runtime } from '../src/platform/runtime.ts'
import type { NextWakeUp } from './deliver.ts'
import { patient } from './patience.ts'

const maxSendsPerClaim = 200

/** A send that is due and yet wasn't claimed was locked at that moment. */
const shortestWaitMs = 100

interface ClaimBatch {
  requestIds: readonly string[]
  claim: Claim
  tries: number
}

type Claimed = { send: ClaimedSend } | { send: undefined; next: NextWakeUp }

/**
 * Commits this worker's claim on the send: from here on it counts as `sending`. A send that can't be claimed needs
 * nothing more, be it finished or another worker's, or behind in its lane; one that isn't due yet is to be woken again
 * when it is.
 */
export function claimer({ db, log }: Runtime, worker: string) {
  const claimPatiently = patient(log, (batch: ClaimBatch) => {
    const claim = batch.tries++ === 0 ? claimSends : reclaimSends
    return claim(db, batch.requestIds, batch.claim)
  })
  const refusals = patient(log, (requestIds: readonly string[]) => findRefusals(db, requestIds))
  const claims = new MicroBatch<string, Claimed>({
    maxItems: maxSendsPerClaim,
    isItemsFault: isRowFault,
    flush: async (requestIds) => {
      const sends = await claimPatiently({ requestIds, claim: { id: uuidv7(), worker }, tries: 0 })
      const claimed = new Map<string, Claimed>(sends.map((send) => [send.requestId, { send }]))
      const refused = requestIds.filter((requestId) => !claimed.has(requestId))
      for (const refusal of refused.length > 0 ? await refusals(refused) : []) {
        claimed.set(refusal.requestId, { send: undefined, next: nextOf(refusal) })
      }
      // Once each, however often it was woken: whoever is given the claim calls the provider.
      return requestIds.map((requestId) => {
        const one = claimed.get(requestId) ?? { send: undefined, next: {} }
        claimed.delete(requestId)
        return one
      })
    },
  })
  return async (requestId: string): Promise<Claimed> => {
    const claimed = await claims.add(requestId)
    if (claimed.send && isFirstSinceReplay(claimed.send)) logEvent(log, requestId, 'replayed')
    return claimed
  }
}

function nextOf({ dueInMs, leavesLane }: Refusal): NextWakeUp {
  return { wakeInMs: dueInMs === null ? undefined : Math.max(dueInMs, shortestWaitMs), leavesLane }
}

/** Whoever replays a send, say on the command line, writes no log of the service. */
function isFirstSinceReplay({ attempt, attemptsBeforeReplay }: ClaimedSend): boolean {
  return attemptsBeforeReplay > 0 && attempt === attemptsBeforeReplay + 1
}
